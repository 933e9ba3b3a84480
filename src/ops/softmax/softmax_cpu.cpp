#include "ops/softmax/softmax.h"
#include "simd/math.h"
#include "simd/rows.h"

namespace loom::inline LOOM_TARGET {
namespace {

// v with the lanes beyond the row set to -infinity.
template <class T>
LOOM_INLINE Lanes<T> or_lowest(const FullLanes&, const Lanes<T>& v) {
  return v;
}
template <class T>
LOOM_INLINE Lanes<T> or_lowest(const TailLanes& tail, const Lanes<T>& v) {
  alignas(64) T lanes[kLanes];
  store(lanes, v);
  for (std::size_t i = tail.n; i < kLanes; ++i) lanes[i] = -static_cast<T>(__builtin_huge_val());
  return load(lanes);
}

template <class T>
void softmax_row(const T* x, T temperature, std::size_t n, T* p) {
  const Lanes<T> t = splat(temperature);
  Lanes<T> largest = splat(-static_cast<T>(__builtin_huge_val()));
  for_lanes(n, [&](std::size_t i, auto lanes) { largest = max(or_lowest<T>(lanes, snap(lanes.load(x + i) / t)), largest); });
  const Lanes<T> top = splat(static_cast<T>(max_lane(largest)));
  const Lanes<T> total = splat(lanes16<T>(n, [&](std::size_t i, auto lanes) {
    const Lanes<T> e = lanes.keep(snap(exp(snap(snap(lanes.load(x + i) / t) - top))));
    lanes.store(p + i, e);
    return e;
  }));
  for_lanes(n, [&](std::size_t i, auto lanes) { lanes.store(p + i, snap(lanes.load(p + i) / total)); });
}

template <class T>
T dot(const T* a, const T* b, std::size_t n) {
  return snap(lanes16<T>(n, [&](std::size_t i, auto lanes) { return lanes.load(a + i) * lanes.load(b + i); }));
}

template <class T>
void backward_row(const T* p, const T* dy, T temperature, std::size_t n, T* dx) {
  const Lanes<T> mean = splat(dot(p, dy, n)), t = splat(temperature);
  for_lanes(n, [&](std::size_t i, auto lanes) { lanes.store(dx + i, snap(snap(lanes.load(p + i) * snap(lanes.load(dy + i) - mean)) / t)); });
}

template <class T>
void gumbel_row(const T* x, const T* u, std::size_t n, T* y) {
  for_lanes(n, [&](std::size_t i, auto lanes) { lanes.store(y + i, snap(lanes.load(x + i) - snap(log(negate(log(lanes.load(u + i))))))); });
}

template <class T>
void weighted_sum(const T* w, std::size_t terms, const T* rows, std::size_t n, T* y) {
  for_lanes(n, [&](std::size_t i, auto lanes) {
    lanes.store(y + i, snap(chain64<Lanes<T>>(0, terms, [&](std::size_t m) { return splat(w[m]) * lanes.load(rows + m * n + i); })));
  });
}

template <class T>
void powers_row(const T* p, T power, std::size_t n, T* s) {
  const Lanes<T> zero = zeros<T>(), by = splat(power), one = splat(T{1});
  for_lanes(n, [&](std::size_t i, auto lanes) {
    const Lanes<T> v = lanes.load(p + i);
    lanes.store(s + i, select(v > zero, snap(pow(select(v > zero, v, one), by)), zero));
  });
}

template <class T>
void bisect_row(const T* z, T power, std::size_t n, T* p) {
  constexpr int kSteps = sizeof(T) == 8 ? 50 : 30;  // the threshold lies in [-1, 0]
  const Lanes<T> zero = zeros<T>(), by = splat(power), one = splat(T{1});
  const auto fill = [&](T tau) {
    const Lanes<T> least = splat(tau);
    return lanes16<T>(n, [&](std::size_t i, auto lanes) {
      const Lanes<T> above = snap(lanes.load(z + i) - least), v = select(above > zero, snap(pow(select(above > zero, above, one), by)), zero);
      lanes.store(p + i, v);
      return lanes.keep(v);
    });
  };
  T low = -1, high = 0;
  for (int step = 0; step < kSteps; ++step) {
    const T tau = (low + high) / 2;
    (fill(tau) >= 1 ? low : high) = tau;
  }
  const Lanes<T> total = splat(fill(low));
  for_lanes(n, [&](std::size_t i, auto lanes) { lanes.store(p + i, snap(lanes.load(p + i) / total)); });
}

template <class T>
constexpr SoftmaxKernels<T> kKernels = {
    .softmax_row = softmax_row<T>,
    .backward_row = backward_row<T>,
    .gumbel_row = gumbel_row<T>,
    .bisect = bisect_row<T>,
    .powers = powers_row<T>,
    .dot = dot<T>,
    .weighted_sum = weighted_sum<T>,
};

}  // namespace

extern const PerElement<SoftmaxKernels> softmax_kernels;
const PerElement<SoftmaxKernels> softmax_kernels = {kKernels<float>, kKernels<double>};

}  // namespace loom::inline LOOM_TARGET
