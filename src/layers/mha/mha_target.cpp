// Targets through attention (engine L-77). Routing is fixed within an update: queries and keys learn nothing from gaps,
// and values take the mean gap of the outputs that read them, weighted by how much they do.

#include "layers/mha/mha.h"
#include "layers/mha/positions.h"
#include "layers/tween.h"
#include "ops/attention/sequence_attention.h"
#include "ops/elementwise/elementwise.h"
#include "ops/norm/norm.h"

namespace loom {

// Gains take products of gaps as they take those of gradients; the gap d itself follows a rule of its own.
void Mha::norm_target(const Run& run, const TweenRules& rules, ConstTensor x, const Weight& gain, Tensor d,
                      std::size_t block) const {
  const ArenaScope scope(run.arena());
  norm_backward(run, x, gain, d, run.tensor(x.rows, x.cols, x.element), block);
  const std::size_t width = gain.elements(), rows = x.rows * x.cols / width;
  const Tensor each{d.data, rows, width, d.element};
  const NormGap norm{.shape = {rows, width, 1}, .eps = config_.rms_norm_eps};
  with_element(x.element, [&]<class T>() {
    target_before_norm(run, rules, norm, {x.data, rows, width, x.element}, gain.values<T>(run), each, each);
  });
}

// Gap of the values: the gap of the outputs through the attention weights, each entry divided by the sum of the weights
// that read it.
void Mha::target_of_values(const Run& run, const TweenRules& rules, const AttentionSaved& kept, const View& d_o,
                           const View& dv) const {
  const View dq = run.view(kept.q.shape, d_o.element), dk = run.view(kept.k.shape, d_o.element);
  const View ones = run.view(d_o.shape, d_o.element), reads = run.view(kept.v.shape, d_o.element);
  const SequenceInputs in{kept.q, kept.k, kept.v, kept.mask.data};
  sequence_attention_backward(run, attention_config(), kept.samples, in, d_o, {dq, dk, dv});
  fill(run, ones, 1);
  sequence_attention_backward(run, attention_config(), kept.samples, in, ones, {dq, dk, reads});
  const std::size_t all = kept.v.shape.elements();
  close_gap(run, reads.data, rules.weight_threshold, true, {}, {dv.data, 1, all, d_o.element});
}

void Mha::target(const Run& run, const TweenRules& rules, const ConstView& e, const View& d) const {
  const ArenaScope scope(run.arena());
  const auto [x, source, mask, q, k, v, o, normed_q, normed_k, normed_o] = run.saved<10>();
  const View d_o = run.view(o.shape, x.element), dv = run.view(v.shape, x.element);
  linear_target(run, rules, normed_o, o_, o_bias_, e, d_o, block_of(x.shape));
  close_targets(run, rules, o_, normed_o, d_o);
  if (config_.inner_norm) norm_target(run, rules, o, inner_norm_, d_o, block_of(x.shape));
  target_of_values(run, rules, {normed_q, normed_k, v, mask, x.shape.rows() / positions_of(x.shape)}, d_o, dv);
  // The gap of values goes to x, or to the second input where its gap is requested (a plan always counts it).
  View to = d;
  if (config_.cross) {
    if (d.data != nullptr) fill_zero(run, d);
    to = {nullptr, source.shape, x.element};
    if (run.d_external != nullptr || run.rehearsal()) to = run.view(source.shape, x.element);
  }
  linear_target(run, rules, source, v_, v_bias_, dv, to, block_of(source.shape));
  close_targets(run, rules, v_, source, to);
  if (config_.cross && run.d_external != nullptr) add(run, *run.d_external, to, *run.d_external);
}

// Factors of engine W-23.
double Mha::tween_factor(const Weight& weight) const {
  return &weight == &q_norm_ || &weight == &k_norm_ || &weight == &inner_norm_ ? kNormFactor : 0.5;
}

}  // namespace loom
