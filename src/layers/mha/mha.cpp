#include "layers/mha/mha.h"

#include <algorithm>

#include "core/checked.h"
#include "layers/tween.h"
#include "ops/attention/sequence_attention.h"
#include "ops/elementwise/elementwise.h"
#include "ops/for_rows.h"
#include "ops/norm/norm.h"

namespace loom {
namespace {

void give_up(const Exec& exec, Error error) {
  if (!exec.status) exec.status = std::move(error);
}

std::size_t positions_of(const Shape& x) { return x.rank() < 2 ? 1 : x[x.rank() - 2]; }
// Rows that belong to sixteen samples (numerics N-05): two axes are one sample.
std::size_t block_of(const Shape& x) { return 16 * (x.rank() <= 2 ? x.rows() : x.rows() / x[0]); }

}  // namespace

AttentionConfig Mha::attention_config() const {
  const MhaConfig& c = config_;
  return {c.num_heads, c.num_kv_heads, c.head_dim, c.sliding_window, c.attn_scale, c.logit_softcap, c.causal};
}

Result<Shape> Mha::output_shape(const Shape& input) const {
  if (input.rank() < 2) return fail(Code::ShapeMismatch, "mha: input {}, [B, T, d] or [T, d] expected", input.text());
  if (input.cols() != config_.d_model) return fail(Code::ShapeMismatch, "mha: {} input features, Wq has {}", input.cols(), config_.d_model);
  if (positions_of(input) > config_.max_seq_len && config_.sliding_window == 0)
    return fail(Code::ContextFull, "mha: {} positions, max_seq_len is {}", positions_of(input), config_.max_seq_len);
  return input.with_cols(config_.output_dim);
}

void Mha::assign_state(std::size_t& next, std::vector<StateNeeds>& needs) {
  slot_ = next++;
  needs.push_back({slot_, attention_config(), config_.rope, config_.uses_rope});
}

const ConstView* Mha::key_source(const Exec& exec, const Pass& pass, const ConstView& x) const {
  const ConstView* source = config_.cross ? pass.external : &x;
  if (source == nullptr)
    return give_up(exec, {Code::InvalidArgument, "mha: cross-attention needs an external input for its keys and values"}), nullptr;
  const Shape& s = source->shape;
  const bool fits = s.cols() == config_.d_model && source->element == x.element && s.rank() == x.shape.rank() &&
                    std::equal(s.extents().begin(), s.extents().end() - std::min<std::size_t>(2, s.rank()), x.shape.extents().begin());
  if (!fits)
    return give_up(exec, {Code::ShapeMismatch, fmt::format("mha: an external input of shape {}, the input has {} and {} features are expected",
                                                           s.text(), x.shape.text(), config_.d_model)}),
           nullptr;
  const std::size_t keys = s.rows();
  if (pass.mask != nullptr && (pass.mask->shape.elements() != keys || pass.mask->element != x.element))
    return give_up(exec, {Code::ShapeMismatch,
                          fmt::format("mha: a mask of shape {}, one entry for each of {} keys expected", pass.mask->shape.text(), keys)}),
           nullptr;
  return source;
}

Mha::RopeTablePtr Mha::rope_table(const Exec& exec, std::size_t positions) const {
  const SpinLock::Guard lock(rope_lock_);
  if (rope_table_ != nullptr && rope_table_->filled() >= positions) return rope_table_;
  std::size_t wanted = 64;
  while (wanted < positions) wanted *= 2;
  auto table = RopeTable::create(config_.rope, wanted);
  if (!table) return give_up(exec, std::move(table).error()), nullptr;
  table->fill(wanted);
  rope_table_ = std::make_shared<const RopeTable>(std::move(*table));  // sessions that use the old one keep it
  return rope_table_;
}

void Mha::norm(const Exec& exec, ConstTensor x, const Weight& gain, Tensor y) const {
  const std::size_t width = gain.elements(), rows = x.rows * x.cols / width;
  with_element(x.element, [&]<class T>() {
    const ArenaScope scope(exec.arena);
    rms_norm(exec, {x.data, rows, width, x.element}, gain.values<T>(exec), config_.rms_norm_eps, {y.data, rows, width, y.element});
  });
}

// d holds the gradient behind the norm and then the one before it; `block` counts rows of whole heads.
void Mha::norm_backward(const Exec& exec, const Pass& pass, ConstTensor x, const Weight& gain, Tensor d, std::size_t block) const {
  const std::size_t width = gain.elements(), rows = x.rows * x.cols / width;
  const Tensor each{d.data, rows, width, d.element};
  void* const gradient = pass.gradients == nullptr ? nullptr : pass.gradients->of(gain);
  with_element(x.element, [&]<class T>() {
    const ArenaScope scope(exec.arena);
    const T* const gains = gain.values<T>(exec);
    const Tensor passed = pass.tween == nullptr ? each : exec.arena.tensor(rows, width, x.element);
    rms_norm_gradient(exec, {x.data, rows, width, x.element}, gains, config_.rms_norm_eps, each, passed, gradient, block * (x.cols / width));
    target_before_norm(exec, pass, {.shape = {rows, width, 1}, .eps = config_.rms_norm_eps}, {x.data, rows, width, x.element}, gains, each, each);
  });
}

void Mha::forward_cached(const Exec& exec, const Pass& pass, const ConstView& input, const View& y) const {
  const ArenaScope scope(exec.arena);
  if (!config_.causal) return give_up(exec, {Code::Unsupported, "mha: only causal attention reads a cache"});
  const ConstTensor x = input;
  const Tensor q = exec.arena.tensor(x.rows, q_.rows());
  const Tensor k = exec.arena.tensor(x.rows, k_.rows());
  const Tensor v = exec.arena.tensor(x.rows, v_.rows());
  const Tensor o = exec.arena.tensor(x.rows, q_.rows());
  const float floor = input_floor();
  linear(exec, x, std::array{LinearJob{&q_, &q_bias_, q, 0, floor}, LinearJob{&k_, &k_bias_, k, 0, floor}, LinearJob{&v_, &v_bias_, v, 0, floor}});
  if (config_.qk_norm != QkNorm::None) {
    norm(exec, q, q_norm_, q);
    norm(exec, k, k_norm_, k);
  }
  if (config_.uses_rope) {
    rope(exec, *pass.rope_tables[slot_], pass.positions, config_.head_dim, q);
    rope(exec, *pass.rope_tables[slot_], pass.positions, config_.head_dim, k);
  }
  attention(exec, attention_config(), q, k, v, pass.runs, pass.caches.subspan(slot_ * pass.runs.size(), pass.runs.size()), o);
  if (config_.inner_norm) norm(exec, o, inner_norm_, o);
  linear(exec, o, o_, o_bias_, y, floor);
}

void Mha::forward(const Exec& exec, const Pass& pass, const ConstView& x, const View& y) const {
  if (!pass.caches.empty()) return forward_cached(exec, pass, x, y);
  const ConstView* const source = key_source(exec, pass, x);
  if (source == nullptr) return;
  const ArenaScope scope(exec.arena, pass.keeps());
  const std::size_t steps = positions_of(x.shape), keys = positions_of(source->shape), samples = x.shape.rows() / steps;
  const auto taken = [&](const Shape& like, std::size_t cols) { return exec.arena.view(like.with_cols(cols).value(), x.element); };
  const View q = taken(x.shape, q_.rows()), k = taken(source->shape, k_.rows()), v = taken(source->shape, v_.rows()), o = taken(x.shape, q_.rows());
  const float floor = input_floor();
  linear(exec, x, q_, q_bias_, q, floor);
  linear(exec, *source, std::array{LinearJob{&k_, &k_bias_, k, 0, floor}, LinearJob{&v_, &v_bias_, v, 0, floor}});
  // What a norm changes, backward wants as it was.
  View normed_q = q, normed_k = k, normed_o = o;
  const bool kept = pass.keeps();
  if (config_.qk_norm != QkNorm::None) {
    if (kept) normed_q = taken(x.shape, q_.rows()), normed_k = taken(source->shape, k_.rows());
    norm(exec, q, q_norm_, normed_q);
    norm(exec, k, k_norm_, normed_k);
  }
  if (config_.uses_rope) {
    const RopeTablePtr table = rope_table(exec, std::max(steps, keys));
    if (table == nullptr) return;
    rope_sequences(exec, *table, steps, config_.head_dim, normed_q);
    rope_sequences(exec, *table, keys, config_.head_dim, normed_k);
  }
  sequence_attention(exec, attention_config(), samples, normed_q, normed_k, v, pass.mask == nullptr ? nullptr : pass.mask->data, o);
  if (config_.inner_norm) {
    if (kept) normed_o = taken(x.shape, q_.rows());
    norm(exec, o, inner_norm_, normed_o);
  }
  linear(exec, normed_o, o_, o_bias_, y, floor);
  if (!kept) return;
  for (const ConstView& view : {x, *source, pass.mask == nullptr ? ConstView{} : *pass.mask}) pass.tape->push(view);
  for (const View& view : {q, k, v, o, normed_q, normed_k, normed_o}) pass.tape->push(view);
}

void Mha::backward(const Exec& exec, const Pass& pass, const ConstView& dy, const View& dx) const {
  const ArenaScope scope(exec.arena);
  Tape& tape = *pass.tape;
  const ConstView normed_o = tape.pop(), normed_k = tape.pop(), normed_q = tape.pop();
  const ConstView o = tape.pop(), v = tape.pop(), k = tape.pop(), q = tape.pop();
  const ConstView mask = tape.pop(), source = tape.pop(), x = tape.pop();
  const std::size_t steps = positions_of(x.shape), keys = positions_of(source.shape), samples = x.shape.rows() / steps;
  const std::size_t block = block_of(x.shape), key_block = block_of(source.shape);
  const View d_o = exec.arena.view(o.shape, x.element);
  linear_backward(exec, pass, normed_o, o_, o_bias_, dy, d_o, block);
  close_targets(exec, pass, o_, normed_o, d_o);
  if (config_.inner_norm) norm_backward(exec, pass, o, inner_norm_, d_o, block);
  const View dq = exec.arena.view(q.shape, x.element), dk = exec.arena.view(k.shape, x.element), dv = exec.arena.view(v.shape, x.element);
  sequence_attention_backward(exec, attention_config(), samples, normed_q, normed_k, v, mask.data, d_o, dq, dk, dv);
  if (pass.tween != nullptr) {
    // Routing is fixed within an update: values take the mean gap of those who read them, weighted by how much they do.
    const View ones = exec.arena.view(o.shape, x.element), reads = exec.arena.view(v.shape, x.element);
    with_element(x.element, [&]<class T>() {
      for_elements(exec, ones.shape.elements(), [&](std::size_t at, std::size_t n) { std::fill_n(ones.as<T>() + at, n, T{1}); });
    });
    sequence_attention_backward(exec, attention_config(), samples, normed_q, normed_k, v, mask.data, ones, dq, dk, reads);
    const ConstTensor all{reads.data, 1, v.shape.elements(), x.element};
    close_gap(exec, all.data, pass.tween->weight_threshold, true, {}, {dv.data, 1, all.cols, x.element});
    View to = dx;
    if (config_.cross) {
      if (dx.data != nullptr) fill_zero(exec, dx);
      to = {nullptr, source.shape, x.element};
      if (pass.d_external != nullptr || exec.rehearsal()) to = exec.arena.view(source.shape, x.element);
    }
    linear_backward(exec, pass, source, v_, v_bias_, dv, to, key_block);
    close_targets(exec, pass, v_, source, to);
    if (config_.cross && pass.d_external != nullptr) add(exec, *pass.d_external, to, *pass.d_external);
    return;
  }
  if (config_.uses_rope) {
    const RopeTablePtr table = rope_table(exec, std::max(steps, keys));
    if (table == nullptr) return;
    rope_sequences(exec, *table, steps, config_.head_dim, dq, true);
    rope_sequences(exec, *table, keys, config_.head_dim, dk, true);
  }
  if (config_.qk_norm != QkNorm::None) {
    norm_backward(exec, pass, q, q_norm_, dq, block);
    norm_backward(exec, pass, k, k_norm_, dk, key_block);
  }
  linear_backward(exec, pass, x, q_, q_bias_, dq, dx, block);
  // The gradient of keys and values goes to x, or to the second input where it is wanted (a plan counts it always).
  View d_source = dx;
  if (config_.cross) {
    d_source = {nullptr, source.shape, x.element};
    if (pass.d_external != nullptr)
      d_source = *pass.d_external;
    else if (exec.rehearsal())
      d_source = exec.arena.view(source.shape, x.element);
  }
  linear_backward(exec, pass, source, k_, k_bias_, dk, d_source, key_block, true);
  linear_backward(exec, pass, source, v_, v_bias_, dv, d_source, key_block, true);
}

double Mha::tween_factor(const Weight& weight) const {
  return &weight == &q_norm_ || &weight == &k_norm_ || &weight == &inner_norm_ ? kNormFactor : 0.5;
}

}  // namespace loom
