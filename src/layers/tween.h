#pragma once
// Target propagation inside layers (engine 7.3; docs/guide/tween.md). Gaps travel like gradients: Layer::target() is
// given e = target of y - y, writes d = target of x - x, and leaves in Gradients the sums whose means, times
// tween_factor() and a rate, move the weights. No derivative is taken; the rules of the kinds stand in engine 3.

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
  // [1]: the product of the mean gate weights of the branches that the layer stands in; no data: 1
  ConstTensor rate{};
};

// d = the gap before the activation. d may be e.
void target_before_activation(const Exec& exec, const TweenRules& rules, const ActivationFn& fn, const ConstView& pre,
                              ConstTensor e, Tensor d);

// Turns the sum of the products with these matrices, which stand one below the other, into the gap of their input: cuts
// weak paths and applies target_scale and estimate. d holds that sum; without data nothing is done.
void close_targets(const Exec& exec, const TweenRules& rules, std::span<const Weight* const> weights, ConstTensor x,
                   Tensor d);
inline void close_targets(const Exec& exec, const TweenRules& rules, const Weight& weight, ConstTensor x, Tensor d) {
  close_targets(exec, rules, std::array{&weight}, x, d);
}
// Like `close_targets()` above, for sums [d.cols] that the caller has computed.
void close_targets(const Exec& exec, const TweenRules& rules, const void* sums, ConstTensor x, Tensor d);

// Combines `sum`, the sum of the gaps that `consumers` of one tensor ask of it: their mean (W-31); the sum itself
// without rules, when they are gradients.
ConstView mean_target(const Run& run, const TweenRules* rules, const ConstView& sum, std::size_t consumers);
// d = the gap before a norm; nothing when d has no data.
void target_before_norm(const Exec& exec, const TweenRules& rules, NormGap norm, ConstTensor x, const void* gamma,
                        ConstTensor e, Tensor d);
// Factor of gains and shifts (engine L-93).
inline constexpr double kNormFactor = 0.01;

}  // namespace loom
