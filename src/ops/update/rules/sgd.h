#pragma once
// sgd: g += d w; v = u v + (1 - damp) g, v = g at t = 1; nesterov: g += u v, else g = v; w -= lr g

#include "ops/update/lanes.h"

namespace loom::inline LOOM_TARGET {

struct Sgd {
  static constexpr UpdateRow row() {
    return {.name = "sgd",
            .reads = "momentum|dampening",
            .beta1 = 0,
            .beta2 = 0,
            .eps = 0,
            .decay = 0,
            .slots = slots,
            .grow = grow};
  }
  static constexpr UpdateSlots slots(const UpdateRule& rule) { return {{rule.momentum != 0 ? "momentum" : nullptr}}; }
  static constexpr void grow(const UpdateRule& rule, double gradient, UpdateSizes& sizes) {
    const double g = gradient + rule.decay * sizes.weight;
    double move = g;
    if (rule.momentum != 0) {
      sizes.slot[0] = rule.momentum * sizes.slot[0] + g;
      move = rule.nesterov ? g + rule.momentum * sizes.slot[0] : sizes.slot[0];
    }
    sizes.weight += rule.rate * move;
  }

  template <class T>
  static void update(const UpdateNumbers<T>& rule, const UpdateRun<T>& run) {
    using V = Lanes<T>;
    const V rate = splat(rule.rate), decay = splat(rule.decay), u = splat(rule.momentum),
            undamped = splat(rule.undamped);
    T* const velocity = run.slot[0];
    if (velocity == nullptr)
      return update_each(run,
                         [&](std::size_t, auto, const V& w, const V& g) { return w - rate * snap(g + decay * w); });
    update_each(run, [&](std::size_t i, auto lanes, const V& w, const V& given) {
      const V g = snap(given + decay * w);
      const V v = rule.first ? g : snap(u * lanes.load(velocity + i) + undamped * g);
      lanes.store(velocity + i, v);
      return w - rate * (rule.nesterov ? snap(g + u * v) : v);
    });
  }
};

}  // namespace loom::inline LOOM_TARGET
