#include "layers/mha/mha.h"

#include <cmath>

#include "core/checked.h"
#include "ops/norm/norm.h"

namespace loom {
namespace {

// Each head of x as a row of its own.
Tensor heads_of(Tensor x, std::size_t head_dim) { return {x.data, x.rows * (x.cols / head_dim), head_dim, x.element}; }

}  // namespace

void Mha::fields(FieldVisitor& visit) {
  visit("d_model|input_height", config_.d_model, {1});
  visit("num_heads", config_.num_heads, {1});
  visit("num_kv_heads", config_.num_kv_heads);
  visit("head_dim", config_.head_dim);
  visit("output_dim", config_.output_dim);
  visit("qkv_bias", config_.qkv_bias);
  visit("out_bias", config_.out_bias);
  visit("rope", config_.uses_rope);
  visit("rope_theta|rope_freq_base", config_.rope.theta);
  visit("rms_norm_eps", config_.rms_norm_eps);
  visit("sliding_window", config_.sliding_window);
  visit("attn_scale", config_.attn_scale);
}

Result<void> Mha::build() {
  MhaConfig& c = config_;
  if (c.num_kv_heads == 0) c.num_kv_heads = c.num_heads;
  if (c.num_heads == 0 || c.num_heads % c.num_kv_heads != 0)
    return fail(Code::InvalidConfig, "mha: {} heads and {} key-value heads: the first must be a multiple of the second", c.num_heads, c.num_kv_heads);
  if (c.head_dim == 0) {
    if (c.d_model % c.num_heads != 0) return fail(Code::InvalidConfig, "mha: {} features do not divide into {} heads", c.d_model, c.num_heads);
    c.head_dim = c.d_model / c.num_heads;
  }
  if (c.output_dim == 0) c.output_dim = c.d_model;
  if (c.rope.dim == 0) c.rope.dim = c.head_dim;
  if (c.uses_rope && c.rope.dim > c.head_dim) return fail(Code::InvalidConfig, "mha: {} rotated elements in heads of {}", c.rope.dim, c.head_dim);
  LOOM_TRY(const std::size_t q, checked_mul(c.num_heads, c.head_dim));
  const std::size_t kv = c.num_kv_heads * c.head_dim;
  const auto matrix = [&](Weight& w, const char* name, std::size_t out, std::size_t in) {
    return w.declare(name, WeightRole::Matrix, std::array{out, in}, {WeightInit::Rule::Glorot, in, out});
  };
  LOOM_TRY_VOID(matrix(q_, "q.weight", q, c.d_model));
  LOOM_TRY_VOID(matrix(k_, "k.weight", kv, c.d_model));
  LOOM_TRY_VOID(matrix(v_, "v.weight", kv, c.d_model));
  LOOM_TRY_VOID(matrix(o_, "o.weight", c.output_dim, q));
  if (c.qkv_bias) {
    LOOM_TRY_VOID(q_bias_.declare("q.bias", WeightRole::Vector, std::array{q}));
    LOOM_TRY_VOID(k_bias_.declare("k.bias", WeightRole::Vector, std::array{kv}));
    LOOM_TRY_VOID(v_bias_.declare("v.bias", WeightRole::Vector, std::array{kv}));
  }
  if (c.out_bias) {
    LOOM_TRY_VOID(o_bias_.declare("o.bias", WeightRole::Vector, std::array{c.output_dim}));
  }
  if (c.head_norm) {
    LOOM_TRY_VOID(q_norm_.declare("q_norm", WeightRole::Vector, std::array{c.head_dim}, {WeightInit::Rule::Ones}));
    LOOM_TRY_VOID(k_norm_.declare("k_norm", WeightRole::Vector, std::array{c.head_dim}, {WeightInit::Rule::Ones}));
  }
  return {};
}

void Mha::visit_weights(const std::function<void(Weight&)>& visit) {
  for (Weight* w : {&q_, &k_, &v_, &o_, &q_bias_, &k_bias_, &v_bias_, &o_bias_, &q_norm_, &k_norm_})
    if (w->declared()) visit(*w);
}

AttentionConfig Mha::attention_config() const {
  const float scale = config_.attn_scale != 0 ? static_cast<float>(config_.attn_scale) : 1.0f / std::sqrt(static_cast<float>(config_.head_dim));
  return {config_.num_heads, config_.num_kv_heads, config_.head_dim, config_.sliding_window, scale};
}

Result<Shape> Mha::output_shape(const Shape& input) const {
  if (input.cols() != config_.d_model) return fail(Code::ShapeMismatch, "mha: {} input features, Wq has {}", input.cols(), config_.d_model);
  return input.with_cols(config_.output_dim);
}

void Mha::assign_state(std::size_t& next, std::vector<StateNeeds>& needs) {
  slot_ = next++;
  needs.push_back({slot_, attention_config(), config_.rope, config_.uses_rope});
}

void Mha::forward(const Exec& exec, const Pass& pass, const ConstView& input, const View& y) const {
  const ArenaScope scope(exec.arena);
  const ConstTensor x = input;
  const Tensor q = exec.arena.tensor(x.rows, q_.rows());
  const Tensor k = exec.arena.tensor(x.rows, k_.rows());
  const Tensor v = exec.arena.tensor(x.rows, v_.rows());
  const Tensor o = exec.arena.tensor(x.rows, q_.rows());
  linear(exec, x, std::array{LinearJob{&q_, &q_bias_, q}, LinearJob{&k_, &k_bias_, k}, LinearJob{&v_, &v_bias_, v}});
  if (config_.head_norm) {
    rms_norm(exec, heads_of(q, config_.head_dim), q_norm_.plain(), config_.rms_norm_eps, heads_of(q, config_.head_dim));
    rms_norm(exec, heads_of(k, config_.head_dim), k_norm_.plain(), config_.rms_norm_eps, heads_of(k, config_.head_dim));
  }
  if (config_.uses_rope) {
    rope(exec, *pass.rope_tables[slot_], pass.positions, config_.head_dim, q);
    rope(exec, *pass.rope_tables[slot_], pass.positions, config_.head_dim, k);
  }
  attention(exec, attention_config(), q, k, v, pass.runs, pass.caches.subspan(slot_ * pass.runs.size(), pass.runs.size()), o);
  linear(exec, o, o_, o_bias_, y);
}

}  // namespace loom
