#pragma once
// adagrad: g += d w; s += g^2; w -= lr g / (sqrt(s) + eps)
// Duchi et al. 2011.

#include "ops/update/lanes.h"

namespace loom::inline LOOM_TARGET {

struct Adagrad {
  static constexpr UpdateRow row() {
    return {.name = "adagrad",
            .reads = "eps",
            .beta1 = 0,
            .beta2 = 0,
            .eps = 1e-10,
            .decay = 0,
            .slots = slots,
            .grow = grow};
  }
  static constexpr UpdateSlots slots(const UpdateRule&) { return {{"square"}}; }
  static constexpr void grow(const UpdateRule& rule, double gradient, UpdateSizes& sizes) {
    const double g = gradient + rule.decay * sizes.weight;
    sizes.slot[0] += g * g;
    sizes.weight += rule.rate * (g / rule.eps);
  }

  template <class T>
  static void update(const UpdateNumbers<T>& rule, const UpdateRun<T>& run) {
    using V = Lanes<T>;
    const V rate = splat(rule.rate), decay = splat(rule.decay), eps = splat(rule.eps);
    T* const squares = run.slot[0];
    update_each(run, [&](std::size_t i, auto lanes, const V& w, const V& given) {
      const V g = snap(given + decay * w), s = snap_square<T>(lanes.load(squares + i) + g * g);
      lanes.store(squares + i, s);
      return w - rate * (g / (sqrt(s) + eps));
    });
  }
};

}  // namespace loom::inline LOOM_TARGET
