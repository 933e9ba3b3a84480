#include "ops/loss/element_loss.h"
#include "simd/math.h"
#include "simd/rows.h"

namespace loom::inline LOOM_TARGET {
namespace {

constexpr double kLogFloor = 1e-10, kProbabilityMargin = 1e-7;

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
    const V p = o + c(kLogFloor);
    return {zero() - t * log(p), snap(zero() - t / p)};
  }
  // p is o within [margin, 1 - margin], known by the smaller of p and 1 - p: 1 - o is exact above a half, and 1 - margin is no f32.
  static LOOM_INLINE Term<V> Bce(const V& o, const V& t, const V&) {
    const V one = c(1), half = c(0.5), margin = c(kProbabilityMargin);
    const V near = select(o > half, one - o, o), small = select(near < margin, margin, near);
    const V log_small = log(small), log_large = log1p(zero() - small), rest = one - t;
    const V value = t * select(o > half, log_large, log_small) + rest * select(o > half, log_small, log_large);
    return {zero() - value, snap(select(o > half, rest - small, small - t) / (small * (one - small)))};
  }
  static LOOM_INLINE Term<V> BceLogits(const V& o, const V& t, const V&) {
    const V away = zero() - abs(o), small = sigmoid(away);  // 1 - sigmoid(o) where o is positive
    return {select(o > zero(), o, zero()) - o * t + log1p(exp(away)), select(o > zero(), (c(1) - t) - small, small - t)};
  }
  // log t - log p where the two are far apart, else log1p of their relative difference, of which the numerator is exact.
  static LOOM_INLINE Term<V> KlDiv(const V& o, const V& t, const V&) {
    const V p = o + c(kLogFloor), e = snap((t - o) - c(kLogFloor)), half = c(0.5);
    const V far = log(t) - log(p), near = log1p(snap(e / p));
    const V log_ratio = select(abs(e) < half * p, near, far);
    return {select(t == zero(), o - o, t * snap(log_ratio)), snap(zero() - t / p)};  // o - o is 0, but for what is no number, which has to show
  }
  static LOOM_INLINE Term<V> Hinge(const V& o, const V& t, const V&) {
    const V margin = c(1) - t * o;
    return {select(margin <= zero(), zero(), margin), select(margin > zero(), zero() - t, zero())};
  }
};

template <class T, auto kFormula>
T row(const T* o, const T* t, T parameter, T scale, std::size_t n, T* gradient) {
  const Lanes<T> setting = splat(parameter), factor = splat(scale);
  return snap(lanes16<T>(n, [&](std::size_t i, auto lanes) {
    const Term<Lanes<T>> term = kFormula(lanes.load(o + i), lanes.load(t + i), setting);
    if (gradient != nullptr) lanes.store(gradient + i, snap(term.slope * factor));
    return lanes.keep(term.value);
  }));
}

template <class T>
constexpr ElementLossKernels<T> kElementLossKernels = {.row = {
#define LOOM_ELEMENT_LOSS(Name) row<T, &Formulas<T>::Name>,
#include "ops/loss/element_losses.inc"
                                                       }};

}  // namespace

extern const PerElement<ElementLossKernels> element_loss_kernels;
const PerElement<ElementLossKernels> element_loss_kernels = {kElementLossKernels<float>, kElementLossKernels<double>};

}  // namespace loom::inline LOOM_TARGET
