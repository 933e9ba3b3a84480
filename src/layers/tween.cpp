#include "layers/tween.h"

namespace loom {

void target_before_activation(const Exec& exec, const TweenRules& rules, const ActivationFn& fn, const ConstView& pre,
                              ConstTensor e, Tensor d) {
  if (!rules.secant) return plain_gap(exec, fn, pre, e, d);
  const ArenaScope scope(exec.arena);
  const Tensor width = exec.arena.tensor(1, 1, pre.element);
  secant_width(exec, pre, rules.slope_step, width);
  secant_gap(exec, fn, pre, width, e, d);
}

void close_targets(const Exec& exec, const TweenRules& rules, const void* sums, ConstTensor x, Tensor d) {
  close_gap(exec, sums, rules.weight_threshold, rules.divides || rules.averages, rules.averages ? x : ConstTensor{}, d);
}

void close_targets(const Exec& exec, const TweenRules& rules, std::span<const Weight* const> weights, ConstTensor x,
                   Tensor d) {
  if (d.data == nullptr) return;
  const ArenaScope scope(exec.arena);
  const Tensor sums = exec.arena.tensor(1, d.cols, d.element);
  fill_zero(exec, sums);
  for (const Weight* w : weights) {
    const ArenaScope decoded(exec.arena);
    with_element(d.element, [&]<class T>() {
      add_size_of_columns(exec, {w->values<T>(exec), w->rows(), w->cols(), d.element}, sums.data);
    });
  }
  close_targets(exec, rules, sums.data, x, d);
}

void target_before_norm(const Exec& exec, const TweenRules& rules, NormGap norm, ConstTensor x, const void* gamma,
                        ConstTensor e, Tensor d) {
  if (d.data == nullptr) return;
  norm.threshold = rules.weight_threshold;
  norm_gap(exec, norm, x, gamma, e, d);
}

ConstView mean_target(const Run& run, const TweenRules* rules, const ConstView& sum, std::size_t consumers) {
  if (rules == nullptr || consumers < 2 || sum.data == nullptr) return sum;
  const View mean = run.view(sum.shape, sum.element);
  scale(run, sum, 1 / static_cast<double>(consumers), mean);
  return mean;
}

}  // namespace loom
