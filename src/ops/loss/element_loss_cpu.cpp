#include "ops/loss/element_loss.h"
#include "simd/math.h"
#include "simd/rows.h"

namespace loom::inline LOOM_TARGET {
namespace {

template <class V>
struct Term {
  V value, slope;
};

// Sixteen elements of one formula.
template <class T>
struct Formulas {
  using V = Lanes<T>;
  static LOOM_INLINE V c(double x) { return splat(static_cast<T>(x)); }
  static LOOM_INLINE V zero() { return zeros<T>(); }

  static LOOM_INLINE Term<V> Mse(const V& o, const V& t, const V&) {
    const V e = snap(o - t);
    return {e * e, e + e};
  }
  static LOOM_INLINE Term<V> Mae(const V& o, const V& t, const V&) {
    const V e = o - t;
    return {abs(e), select(e > zero(), c(1), select(e < zero(), c(-1), e))};  // a NaN shows
  }
  static LOOM_INLINE Term<V> Huber(const V& o, const V& t, const V& delta) {
    const V e = snap(o - t), size = abs(e), half = c(0.5);
    return {select(size > delta, delta * (size - half * delta), half * (e * e)),
            select(e > delta, delta, select(e < zero() - delta, zero() - delta, e))};
  }
  static LOOM_INLINE Term<V> CrossEntropy(const V& o, const V& t, const V&) {
    const V p = o + c(kLossLogFloor);
    return {zero() - t * log(p), snap(zero() - t / p)};
  }
  // p is o within [margin, 1 - margin], known by the smaller of p and 1 - p: 1 - o is exact above a half, and 1 -
  // margin is no f32.
  static LOOM_INLINE Term<V> Bce(const V& o, const V& t, const V&) {
    const V one = c(1), half = c(0.5), margin = c(kProbabilityMargin);
    const V near = select(o > half, one - o, o), small = select(near < margin, margin, near);
    const V log_small = log(small), log_large = log1p(zero() - small), rest = one - t;
    const V value = t * select(o > half, log_large, log_small) + rest * select(o > half, log_small, log_large);
    return {zero() - value, snap(select(o > half, rest - small, small - t) / (small * (one - small)))};
  }
  static LOOM_INLINE Term<V> BceLogits(const V& o, const V& t, const V&) {
    const V away = zero() - abs(o), small = sigmoid(away);  // 1 - sigmoid(o) where o is positive
    return {select(o > zero(), o, zero()) - o * t + log1p(exp(away)),
            select(o > zero(), (c(1) - t) - small, small - t)};
  }
  // log t - log p where the two are far apart, else log1p of their relative difference, of which the numerator is
  // exact.
  static LOOM_INLINE Term<V> KlDiv(const V& o, const V& t, const V&) {
    const V p = o + c(kLossLogFloor), e = snap((t - o) - c(kLossLogFloor)), half = c(0.5);
    const V far = log(t) - log(p), near = log1p(snap(e / p));
    const V log_ratio = select(abs(e) < half * p, near, far);
    // o - o is 0, but for what is no number, which has to show
    return {select(t == zero(), o - o, t * snap(log_ratio)), snap(zero() - t / p)};
  }
  static LOOM_INLINE Term<V> Hinge(const V& o, const V& t, const V&) {
    const V margin = c(1) - t * o;
    return {select(margin <= zero(), zero(), margin), select(margin > zero(), zero() - t, zero())};
  }
};

// The values of elements i, i + 1, ... counted from the first row; their gradients are stored.
template <auto kFormula, class T, class L>
LOOM_INLINE Lanes<T> values_at(const ElementLossRows<T>& run, std::size_t i, const L& lanes) {
  const Term<Lanes<T>> term = kFormula(lanes.load(run.o + i), lanes.load(run.t + i), splat(run.parameter));
  if (run.gradient != nullptr) lanes.store(run.gradient + i, snap(term.slope * splat(run.scale)));
  return term.value;
}

// Rows shorter than sixteen: lanes run across them, and only the sums are taken row by row.
template <auto kFormula, class T>
LOOM_INLINE void short_rows(const ElementLossRows<T>& run) {
  constexpr std::size_t kElements = 256;
  alignas(64) T values[kElements];
  for (std::size_t first = 0, most = kElements / run.n; first < run.rows; first += most) {
    const std::size_t rows = run.rows - first < most ? run.rows - first : most, begin = first * run.n;
    for_lanes(rows * run.n,
              [&](std::size_t i, auto lanes) { lanes.store(values + i, values_at<kFormula>(run, begin + i, lanes)); });
    for (std::size_t r = 0; r < rows; ++r) {
      alignas(64) T lanes[kLanes] = {};
      for (std::size_t k = 0; k < run.n; ++k) lanes[k] = values[r * run.n + k];
      run.values[first + r] = snap(fold(lanes));
    }
  }
}

template <class T, auto kFormula>
void loss_rows(const ElementLossRows<T>& run) {
  if (run.n < kLanes) return short_rows<kFormula>(run);
  for (std::size_t r = 0; r < run.rows; ++r)
    run.values[r] = snap(lanes16<T>(
        run.n, [&](std::size_t i, auto lanes) { return lanes.keep(values_at<kFormula>(run, r * run.n + i, lanes)); }));
}

template <class T>
constexpr ElementLossKernels<T> kElementLossKernels = {.rows = {
#define LOOM_ELEMENT_LOSS(Name) loss_rows<T, &Formulas<T>::Name>,
#include "ops/loss/element_losses.inc"
                                                       }};

}  // namespace

extern const PerElement<ElementLossKernels> element_loss_kernels;
const PerElement<ElementLossKernels> element_loss_kernels = {kElementLossKernels<float>, kElementLossKernels<double>};

}  // namespace loom::inline LOOM_TARGET
