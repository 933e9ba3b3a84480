#include "layers/mha/mha.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "ops/matmul/matmul.h"
#include "ops/norm/norm.h"

namespace loom {
namespace {

const float* or_null(const std::vector<float>& v) { return v.empty() ? nullptr : v.data(); }

// Each head of x as a row of its own.
Tensor heads_of(Tensor x, std::size_t head_dim) { return {x.data, x.rows * (x.cols / head_dim), head_dim}; }

}  // namespace

Result<LayerPtr> Mha::create(const MhaConfig& c, MhaWeights w) {
  if (c.heads == 0 || c.kv_heads == 0 || c.head_dim == 0 || c.heads % c.kv_heads != 0)
    return fail(Code::InvalidConfig, "mha: {} heads, {} key-value heads of {} features: the first must be a multiple of the second", c.heads,
                c.kv_heads, c.head_dim);
  const std::size_t q = c.heads * c.head_dim, kv = c.kv_heads * c.head_dim;
  const auto check = [&](const char* what, const Matrix& m, std::size_t rows, std::size_t cols) -> Result<void> {
    if (m.rows() != rows || m.cols() != cols)
      return fail(Code::ShapeMismatch, "mha: {} is {} x {}, expected {} x {}", what, m.rows(), m.cols(), rows, cols);
    return {};
  };
  const std::size_t d = w.q->cols();
  LOOM_TRY_VOID(check("Wq", *w.q, q, d));
  LOOM_TRY_VOID(check("Wk", *w.k, kv, d));
  LOOM_TRY_VOID(check("Wv", *w.v, kv, d));
  LOOM_TRY_VOID(check("Wo", *w.o, w.o->rows(), q));
  const std::array<std::pair<const std::vector<float>*, std::size_t>, 6> vectors = {
      {{&w.q_bias, q}, {&w.k_bias, kv}, {&w.v_bias, kv}, {&w.o_bias, w.o->rows()}, {&w.q_norm, c.head_dim}, {&w.k_norm, c.head_dim}}};
  for (const auto& [vector, size] : vectors)
    if (!vector->empty() && vector->size() != size)
      return fail(Code::ShapeMismatch, "mha: a bias or norm has {} values, expected {}", vector->size(), size);
  if (c.uses_rope && c.rope.dim > c.head_dim) return fail(Code::InvalidConfig, "mha: {} rotated elements in heads of {}", c.rope.dim, c.head_dim);
  return LayerPtr(new Mha(c, std::move(w)));
}

AttentionConfig Mha::attention_config() const {
  const float scale = config_.scale != 0 ? config_.scale : 1.0f / std::sqrt(static_cast<float>(config_.head_dim));
  return {config_.heads, config_.kv_heads, config_.head_dim, config_.sliding_window, scale};
}

Result<Shape> Mha::output_shape(const Shape& input) const {
  if (input.cols() != w_.q->cols()) return fail(Code::ShapeMismatch, "mha: {} input features, Wq has {}", input.cols(), w_.q->cols());
  return input.with_cols(w_.o->rows());
}

std::size_t Mha::scratch_bytes(const PlanSizes& sizes, const Shape& input) const {
  const std::size_t rows = input.rows();
  const std::size_t q = config_.heads * config_.head_dim, kv = config_.kv_heads * config_.head_dim;
  const std::size_t ops = std::max(matmul_scratch_bytes(rows, std::max(q, input.cols())),
                                   attention_scratch_bytes(attention_config(), sizes.max_positions, sizes.threads));
  return 2 * tensor_bytes(rows, q) + 2 * tensor_bytes(rows, kv) + ops;
}

void Mha::assign_state(std::size_t& next, std::vector<StateNeeds>& needs) {
  slot_ = next++;
  needs.push_back({slot_, attention_config(), config_.rope, config_.uses_rope});
}

void Mha::forward(const Exec& exec, const Pass& pass, const ConstView& input, const View& y) const {
  const ArenaScope scope(exec.arena);
  const ConstTensor x = input;
  const Tensor q = exec.arena.tensor(x.rows, w_.q->rows());
  const Tensor k = exec.arena.tensor(x.rows, w_.k->rows());
  const Tensor v = exec.arena.tensor(x.rows, w_.v->rows());
  const Tensor o = exec.arena.tensor(x.rows, w_.q->rows());
  matmul(exec, x,
         std::array{MatmulJob{w_.q.get(), q, or_null(w_.q_bias)}, MatmulJob{w_.k.get(), k, or_null(w_.k_bias)},
                    MatmulJob{w_.v.get(), v, or_null(w_.v_bias)}});
  if (!w_.q_norm.empty()) rms_norm(exec, heads_of(q, config_.head_dim), w_.q_norm.data(), config_.norm_eps, heads_of(q, config_.head_dim));
  if (!w_.k_norm.empty()) rms_norm(exec, heads_of(k, config_.head_dim), w_.k_norm.data(), config_.norm_eps, heads_of(k, config_.head_dim));
  if (config_.uses_rope) {
    rope(exec, *pass.rope_tables[slot_], pass.positions, config_.head_dim, q);
    rope(exec, *pass.rope_tables[slot_], pass.positions, config_.head_dim, k);
  }
  attention(exec, attention_config(), q, k, v, pass.runs, pass.caches.subspan(slot_ * pass.runs.size(), pass.runs.size()), o);
  matmul(exec, o, std::array{MatmulJob{w_.o.get(), y, or_null(w_.o_bias)}});
}

std::size_t Mha::resident_bytes() const {
  const std::size_t vectors = w_.q_bias.size() + w_.k_bias.size() + w_.v_bias.size() + w_.o_bias.size() + w_.q_norm.size() + w_.k_norm.size();
  return w_.q->resident_bytes() + w_.k->resident_bytes() + w_.v->resident_bytes() + w_.o->resident_bytes() + vectors * sizeof(float);
}

void Mha::visit_matrices(const std::string& path, const std::function<void(const std::string&, const Matrix&)>& visit) const {
  visit(path + ".q", *w_.q);
  visit(path + ".k", *w_.k);
  visit(path + ".v", *w_.v);
  visit(path + ".o", *w_.o);
}

}  // namespace loom
