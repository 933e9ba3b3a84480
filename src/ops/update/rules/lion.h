#pragma once
// lion: w -= lr (sign(b1 m + (1 - b1) g) + d w); m = b2 m + (1 - b2) g
// Chen et al. 2023.

#include "ops/update/lanes.h"

namespace loom::inline LOOM_TARGET {

struct Lion {
  static constexpr UpdateRow row() {
    return {.name = "lion",
            .reads = "betas",
            .beta1 = 0.9,
            .beta2 = 0.99,
            .eps = 0,
            .decay = 0,
            .slots = slots,
            .grow = grow};
  }
  static constexpr UpdateSlots slots(const UpdateRule&) { return {{"m"}}; }
  static constexpr void grow(const UpdateRule& rule, double gradient, UpdateSizes& sizes) {
    sizes.slot[0] = larger_of(sizes.slot[0], gradient);
    sizes.weight += rule.rate * (1 + rule.decay * sizes.weight);
  }

  template <class T>
  static void update(const UpdateNumbers<T>& rule, const UpdateRun<T>& run) {
    using V = Lanes<T>;
    const V rate = splat(rule.rate), decay = splat(rule.decay), zero = zeros<T>(), one = splat(T{1}),
            minus_one = splat(T{-1});
    const V b1 = splat(rule.beta1), b2 = splat(rule.beta2), c1 = splat(rule.rest1), c2 = splat(rule.rest2);
    T* const momentum = run.slot[0];
    update_each(run, [&](std::size_t i, auto lanes, const V& w, const V& given) {
      const V g = snap(given), m = lanes.load(momentum + i), mixed = b1 * m + c1 * g;
      const V sign = select(mixed > zero, one, select(mixed < zero, minus_one, mixed));  // a NaN shows
      lanes.store(momentum + i, snap(b2 * m + c2 * g));
      return w - rate * (sign + decay * w);
    });
  }
};

}  // namespace loom::inline LOOM_TARGET
