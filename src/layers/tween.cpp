#include "layers/tween.h"

namespace loom {

void through_activation(const Exec& exec, const Pass& pass, const ActivationFn& fn, const ConstView& pre, ConstTensor dy, Tensor dx) {
  if (pass.tween == nullptr) return activate_backward(exec, fn, pre, dy, dx);
  if (!pass.tween->secant) return plain_gap(exec, fn, pre, dy, dx);
  secant_gap(exec, fn, pre, secant_width(exec, pre, pass.tween->slope_step), dy, dx);
}

void close_targets(const Exec& exec, const TweenRules& rules, const void* sums, ConstTensor x, Tensor dx) {
  close_gap(exec, sums, rules.weight_threshold, rules.divides || rules.averages, rules.averages ? x : ConstTensor{}, dx);
}

void close_targets(const Exec& exec, const Pass& pass, std::span<const Weight* const> weights, ConstTensor x, Tensor dx) {
  if (pass.tween == nullptr || dx.data == nullptr) return;
  const ArenaScope scope(exec.arena);
  const Tensor sums = exec.arena.tensor(1, dx.cols, dx.element);
  fill_zero(exec, sums);
  for (const Weight* w : weights) {
    const ArenaScope decoded(exec.arena);
    with_element(dx.element, [&]<class T>() { add_size_of_columns(exec, {w->values<T>(exec), w->rows(), w->cols(), dx.element}, sums.data); });
  }
  close_targets(exec, *pass.tween, sums.data, x, dx);
}

void target_before_norm(const Exec& exec, const Pass& pass, NormGap norm, ConstTensor x, const void* gamma, ConstTensor dy, Tensor dx) {
  if (pass.tween == nullptr || dx.data == nullptr) return;
  norm.threshold = pass.tween->weight_threshold;
  norm_gap(exec, norm, x, gamma, dy, dx);
}

ConstView mean_target(const Exec& exec, const Pass& pass, const ConstView& sum, std::size_t consumers) {
  if (pass.tween == nullptr || consumers < 2 || sum.data == nullptr) return sum;
  const View mean = exec.arena.view(sum.shape, sum.element);
  scale(exec, sum, 1 / static_cast<double>(consumers), mean);
  return mean;
}

}  // namespace loom
