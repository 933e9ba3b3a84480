#include "ops/update/update.h"

#include "simd/rows.h"

namespace loom::inline LOOM_TARGET {
namespace {

template <class T>
LOOM_INLINE Lanes<T> snap_square(const Lanes<T>& v) {
  return select(v < splat(static_cast<T>(sizeof(T) == 8 ? 0x1p-960 : 0x1p-100)), zeros<T>(), v);
}

template <class T>
void update(const UpdateRule& rule, const UpdateRun<T>& run) {
  using V = Lanes<T>;
  const auto c = [](double x) { return splat(static_cast<T>(x)); };
  const V rate = c(rule.rate), decay = c(rule.decay), shrink = c(rule.rate * rule.decay), eps = c(rule.eps), u = c(rule.momentum);
  const V b1 = c(rule.beta1), b2 = c(rule.beta2), c1 = c(1 - rule.beta1), c2 = c(1 - rule.beta2);
  const V a = c(rule.alpha), rest = c(1 - rule.alpha), undamped = c(1 - rule.dampening), correct1 = c(rule.correct1), correct2 = c(rule.correct2);
  T *const s0 = run.slot[0], *const s1 = run.slot[1], *const s2 = run.slot[2];
  // f(i, lanes, w, g) gives the new weights.
  const auto each = [&](auto f) {
    for_lanes(run.count, [&](std::size_t i, auto lanes) {
      lanes.store(run.w + i, snap(f(i, lanes, lanes.load(run.w + i), lanes.load(run.g + i))));
    });
  };
  const auto decayed = [&](const V& w, const V& g) { return snap(g + decay * w); };
  switch (rule.kind) {
    case UpdateKind::Sgd:
      if (s0 == nullptr) return each([&](std::size_t, auto, const V& w, const V& g) { return w - rate * decayed(w, g); });
      return each([&](std::size_t i, auto lanes, const V& w, const V& given) {
        const V g = decayed(w, given);
        const V v = rule.first ? g : snap(u * lanes.load(s0 + i) + undamped * g);
        lanes.store(s0 + i, v);
        return w - rate * (rule.nesterov ? snap(g + u * v) : v);
      });
    case UpdateKind::Adam:
    case UpdateKind::AdamW:
      return each([&](std::size_t i, auto lanes, const V& w, const V& given) {
        const bool plain = rule.kind == UpdateKind::Adam;
        const V g = plain ? decayed(w, given) : snap(given), kept = plain ? w : snap(w - shrink * w);
        const V m = snap(b1 * lanes.load(s0 + i) + c1 * g);
        V v = snap_square<T>(b2 * lanes.load(s1 + i) + c2 * (g * g));
        lanes.store(s0 + i, m);
        lanes.store(s1 + i, v);
        if (s2 != nullptr) {
          const V before = lanes.load(s2 + i);
          v = select(v > before, v, before);
          lanes.store(s2 + i, v);
        }
        return kept - rate * ((m / correct1) / (sqrt(v / correct2) + eps));
      });
    case UpdateKind::RmsProp:
      return each([&](std::size_t i, auto lanes, const V& w, const V& given) {
        const V g = decayed(w, given), s = snap_square<T>(a * lanes.load(s0 + i) + rest * (g * g));
        lanes.store(s0 + i, s);
        V square = s;
        if (rule.centered) {
          const V mean = snap(a * lanes.load(s1 + i) + rest * g);
          lanes.store(s1 + i, mean);
          square = snap_square<T>(s - mean * mean);  // rounding may leave it below 0
        }
        V move = g / (sqrt(square) + eps);
        if (T* const buffer = rule.centered ? s2 : s1; rule.momentum != 0) {
          move = snap(u * lanes.load(buffer + i) + move);
          lanes.store(buffer + i, move);
        }
        return w - rate * move;
      });
    case UpdateKind::Adagrad:
      return each([&](std::size_t i, auto lanes, const V& w, const V& given) {
        const V g = decayed(w, given), s = snap_square<T>(lanes.load(s0 + i) + g * g);
        lanes.store(s0 + i, s);
        return w - rate * (g / (sqrt(s) + eps));
      });
    case UpdateKind::Lion:
      return each([&](std::size_t i, auto lanes, const V& w, const V& given) {
        const V g = snap(given), m = lanes.load(s0 + i), mixed = b1 * m + c1 * g, zero = zeros<T>();
        const V sign = select(mixed > zero, c(1), select(mixed < zero, c(-1), mixed));  // a NaN shows
        lanes.store(s0 + i, snap(b2 * m + c2 * g));
        return w - rate * (sign + decay * w);
      });
  }
}

}  // namespace

extern const PerElement<UpdateKernels> update_kernels;
const PerElement<UpdateKernels> update_kernels = {{.update = update<float>}, {.update = update<double>}};

}  // namespace loom::inline LOOM_TARGET
