#pragma once
// Target propagation inside layers (engine 7.3; docs/tween.md). Gaps travel like gradients: with Pass::tween a backward pass is given
// e = target of y - y, writes d = target of x - x, and leaves in Gradients the sums whose means, times tween_factor() and a rate, move the
// weights. No derivative is taken; the rules of the kinds stand in engine 3.

#include "layers/layer.h"
#include "ops/gap/gap.h"

namespace loom {

struct TweenRules {
  bool secant = true;              // slope "secant"; else "sign"
  double slope_step = 0.5;         // half the width of the secant, in units of the rms of the pre-activations
  bool divides = false;            // target_scale "weight_sum"
  bool averages = false;           // estimate "average"
  double weight_threshold = 0.01;  // weak paths give no signal (W-22)
  double activation_clamp = 0;     // of every gap on its way down; 0: none
  double* branch_rate = nullptr;   // the mean gate weights of the branches that the layer at hand stands in
};

// dx = dy * fn'(pre), or the gap before the activation. dx may be dy.
void through_activation(const Exec& exec, const Pass& pass, const ActivationFn& fn, const ConstView& pre, ConstTensor dy, Tensor dx);

// After the products with these matrices, which stand one below the other, have been added up in dx: weak paths, target_scale, estimate.
// Nothing without Pass::tween, or when dx has no data.
void close_targets(const Exec& exec, const Pass& pass, std::span<const Weight* const> weights, ConstTensor x, Tensor dx);
inline void close_targets(const Exec& exec, const Pass& pass, const Weight& weight, ConstTensor x, Tensor dx) {
  close_targets(exec, pass, std::array{&weight}, x, dx);
}
// The same where the sums [dx.cols] are at hand.
void close_targets(const Exec& exec, const TweenRules& rules, const void* sums, ConstTensor x, Tensor dx);

// Of the gaps that `consumers` of one tensor ask of it, summed: their mean with Pass::tween (W-31), else the sum as it is.
ConstView mean_target(const Exec& exec, const Pass& pass, const ConstView& sum, std::size_t consumers);
// dx = the gap before a norm, in place of its gradient; nothing without Pass::tween, or when dx has no data.
void target_before_norm(const Exec& exec, const Pass& pass, NormGap norm, ConstTensor x, const void* gamma, ConstTensor dy, Tensor dx);
// Factor of gains and shifts (engine L-93).
inline constexpr double kNormFactor = 0.01;

}  // namespace loom
