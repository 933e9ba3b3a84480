#pragma once
// rmsprop: g += d w; s = a s + (1 - a) g^2; mg = a mg + (1 - a) g; q = sqrt(s - mg^2 if centered) + eps; buf = u buf +
// g / q; w -= lr buf Tieleman & Hinton 2012, in PyTorch's form.

#include "ops/update/lanes.h"

namespace loom::inline LOOM_TARGET {

struct RmsProp {
  static constexpr UpdateRow row() {
    return {.name = "rmsprop",
            .reads = "eps|momentum|centered",
            .beta1 = 0,
            .beta2 = 0,
            .eps = 1e-8,
            .decay = 0,
            .slots = slots,
            .grow = grow};
  }
  static constexpr UpdateSlots slots(const UpdateRule& rule) {
    const char* const buffer = rule.momentum != 0 ? "momentum" : nullptr;
    return {{"square", rule.centered ? "mean" : buffer, rule.centered ? buffer : nullptr}};
  }
  static constexpr void grow(const UpdateRule& rule, double gradient, UpdateSizes& sizes) {
    const double g = gradient + rule.decay * sizes.weight;
    sizes.slot[0] = larger_of(sizes.slot[0], g * g);
    if (rule.centered) sizes.slot[1] = larger_of(sizes.slot[1], g);
    double move = g / rule.eps;
    double& buffer = sizes.slot[rule.centered ? 2 : 1];
    if (rule.momentum != 0) buffer = move = rule.momentum * buffer + move;
    sizes.weight += rule.rate * move;
  }

  template <class T>
  static void update(const UpdateNumbers<T>& rule, const UpdateRun<T>& run) {
    using V = Lanes<T>;
    const V rate = splat(rule.rate), decay = splat(rule.decay), eps = splat(rule.eps), u = splat(rule.momentum);
    const V a = splat(rule.alpha), rest = splat(rule.rest);
    T *const squares = run.slot[0], *const means = run.slot[1], *const buffer = run.slot[rule.centered ? 2 : 1];
    update_each(run, [&](std::size_t i, auto lanes, const V& w, const V& given) {
      const V g = snap(given + decay * w), s = snap_square<T>(a * lanes.load(squares + i) + rest * (g * g));
      lanes.store(squares + i, s);
      V square = s;
      if (rule.centered) {
        const V mean = snap(a * lanes.load(means + i) + rest * g);
        lanes.store(means + i, mean);
        square = snap_square<T>(s - mean * mean);  // rounding may leave it below 0
      }
      V move = g / (sqrt(square) + eps);
      if (rule.has_momentum) {
        move = snap(u * lanes.load(buffer + i) + move);
        lanes.store(buffer + i, move);
      }
      return w - rate * move;
    });
  }
};

}  // namespace loom::inline LOOM_TARGET
