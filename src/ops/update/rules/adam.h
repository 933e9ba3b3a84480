#pragma once
// adam:  g += d w; m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2; w -= lr (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) +
// eps) adamw: w -= lr d w first, no g += d w. `amsgrad` (both): the largest v so far in place of v
// Kingma & Ba 2015; Loshchilov & Hutter 2019; Reddi et al. 2018.

#include "ops/update/lanes.h"

namespace loom::inline LOOM_TARGET {

template <bool kDecoupled>
struct AdamRule {
  static constexpr UpdateRow row() {
    return {.name = kDecoupled ? "adamw" : "adam",
            .reads = "betas|eps|amsgrad",
            .beta1 = 0.9,
            .beta2 = 0.999,
            .eps = 1e-8,
            .decay = kDecoupled ? 0.01 : 0,
            .slots = slots,
            .grow = grow};
  }
  static constexpr UpdateSlots slots(const UpdateRule& rule) { return {{"m", "v", rule.amsgrad ? "v_max" : nullptr}}; }
  static constexpr void grow(const UpdateRule& rule, double gradient, UpdateSizes& sizes) {
    const double used = kDecoupled ? gradient : gradient + rule.decay * sizes.weight;
    const double kept = sizes.weight * (kDecoupled ? larger_of(1, rule.rate * rule.decay) : 1);
    sizes.slot[0] = larger_of(sizes.slot[0], used), sizes.slot[1] = larger_of(sizes.slot[1], used * used);
    sizes.slot[2] = larger_of(sizes.slot[2], sizes.slot[1]);
    sizes.weight = kept + rule.rate * (sizes.slot[0] / rule.correct1 / rule.eps);
  }

  template <class T>
  static void update(const UpdateNumbers<T>& rule, const UpdateRun<T>& run) {
    using V = Lanes<T>;
    const V rate = splat(rule.rate), decay = splat(rule.decay), shrink = splat(rule.shrink), eps = splat(rule.eps);
    const V b1 = splat(rule.beta1), b2 = splat(rule.beta2), c1 = splat(rule.rest1), c2 = splat(rule.rest2);
    const V correct1 = splat(rule.correct1), correct2 = splat(rule.correct2);
    T *const first = run.slot[0], *const second = run.slot[1], *const largest = run.slot[2];
    update_each(run, [&](std::size_t i, auto lanes, const V& w, const V& given) {
      const V g = kDecoupled ? snap(given) : snap(given + decay * w), kept = kDecoupled ? snap(w - shrink * w) : w;
      const V m = snap(b1 * lanes.load(first + i) + c1 * g);
      V v = snap_square<T>(b2 * lanes.load(second + i) + c2 * (g * g));
      lanes.store(first + i, m);
      lanes.store(second + i, v);
      if (largest != nullptr) {
        const V before = lanes.load(largest + i);
        v = select(v > before, v, before);
        lanes.store(largest + i, v);
      }
      return kept - rate * ((m / correct1) / (sqrt(v / correct2) + eps));
    });
  }
};
using Adam = AdamRule<false>;
using AdamW = AdamRule<true>;

}  // namespace loom::inline LOOM_TARGET
