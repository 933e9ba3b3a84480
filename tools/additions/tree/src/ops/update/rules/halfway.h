#pragma once
// halfway: w -= lr g / 2

#include "ops/update/lanes.h"

namespace loom::inline LOOM_TARGET {

struct Halfway {
  static constexpr UpdateRow row() {
    return {.name = "halfway", .reads = "", .beta1 = 0, .beta2 = 0, .eps = 0, .decay = 0, .slots = slots, .grow = grow};
  }
  static constexpr UpdateSlots slots(const UpdateRule&) { return {}; }
  static constexpr void grow(const UpdateRule& rule, double gradient, UpdateSizes& sizes) {
    sizes.weight += rule.rate * gradient;
  }

  template <class T>
  static void update(const UpdateNumbers<T>& rule, const UpdateRun<T>& run) {
    const Lanes<T> rate = splat(rule.rate), half = splat(T{0.5});
    update_each(
        run, [&](std::size_t, auto, const Lanes<T>& w, const Lanes<T>& g) { return w - rate * snap(snap(g) * half); });
  }
};

}  // namespace loom::inline LOOM_TARGET
