#include "ops/softmax/softmax.h"
#include "ops/non_finite.h"
#include "ops/softmax/row_dot.h"
#include "simd/math.h"
#include "simd/philox.h"
#include "simd/rows.h"

namespace loom::inline LOOM_TARGET {
namespace {

// v with the lanes beyond the row set to a number that no largest one is below.
template <class T>
LOOM_INLINE Lanes<T> or_lowest(const FullLanes&, const Lanes<T>& v) {
  return v;
}
template <class T>
LOOM_INLINE Lanes<T> or_lowest(const TailLanes& tail, const Lanes<T>& v) {
  alignas(64) T lanes[kLanes];
  store(lanes, v);
  for (std::size_t i = tail.n; i < kLanes; ++i) lanes[i] = kLowest<T>;
  return load(lanes);
}

template <class T>
void softmax_row(const T* x, T temperature, std::size_t n, T* p) {
  const Lanes<T> t = splat(temperature);
  Lanes<T> largest = splat(kLowest<T>);
  // p holds x / t until it holds the exponentials. Divisions are most of the work: a quotient by 1 is what it was.
  const auto find_largest = [&](auto divided) {
    for_lanes(n, [&](std::size_t i, auto lanes) {
      const Lanes<T> v = snap(divided(lanes.load(x + i)));
      lanes.store(p + i, v);
      largest = max(or_lowest<T>(lanes, v), largest);
    });
  };
  if (temperature == 1)
    find_largest([](const Lanes<T>& v) { return v; });
  else
    find_largest([&](const Lanes<T>& v) { return v / t; });
  const Lanes<T> top = splat(static_cast<T>(max_lane(largest)));
  const Lanes<T> total = splat(lanes16<T>(n, [&](std::size_t i, auto lanes) {
    const Lanes<T> e = lanes.keep(snap(exp(snap(lanes.load(p + i) - top))));
    lanes.store(p + i, e);
    return e;
  }));
  for_lanes(n, [&](std::size_t i, auto lanes) { lanes.store(p + i, snap(lanes.load(p + i) / total)); });
}

template <class T>
void backward_row(const T* p, const T* dy, T temperature, std::size_t n, T* dx) {
  const Lanes<T> mean = splat(row_dot(p, dy, n)), t = splat(temperature);
  const auto slope = [&](std::size_t i, auto lanes) {
    return snap(lanes.load(p + i) * snap(lanes.load(dy + i) - mean));
  };
  if (temperature == 1)
    for_lanes(n, [&](std::size_t i, auto lanes) { lanes.store(dx + i, slope(i, lanes)); });
  else
    for_lanes(n, [&](std::size_t i, auto lanes) { lanes.store(dx + i, snap(slope(i, lanes) / t)); });
}

// Returns whether entry i of a row counts.
template <class T>
LOOM_INLINE bool is_seen(const SoftmaxMaskRow<T>& mask, std::size_t i) {
  return mask.call != nullptr ? mask.call[i] > 0 : i >= mask.num_listed || mask.listed[i] != 0;
}

template <class T>
void masked_row(const T* x, T temperature, const SoftmaxMaskRow<T>& mask, std::size_t n, T* p) {
  // p holds 1 for what is seen, else 0, until it holds the exponentials.
  const Lanes<T> t = splat(temperature), zero = zeros<T>(), lowest = splat(kLowest<T>);
  std::size_t seen = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const bool counts = is_seen(mask, i);
    seen += counts, p[i] = counts ? T{1} : T{0};
  }
  if (seen == 0) return;
  Lanes<T> largest = lowest;
  for_lanes(n, [&](std::size_t i, auto lanes) {
    largest = max(select(lanes.load(p + i) > zero, snap(lanes.load(x + i) / t), lowest), largest);
  });
  const Lanes<T> top = splat(static_cast<T>(max_lane(largest)));
  const Lanes<T> total = splat(lanes16<T>(n, [&](std::size_t i, auto lanes) {
    const Lanes<T> e = select(lanes.load(p + i) > zero, snap(exp(snap(snap(lanes.load(x + i) / t) - top))), zero);
    lanes.store(p + i, e);
    return e;
  }));
  for_lanes(n, [&](std::size_t i, auto lanes) { lanes.store(p + i, snap(lanes.load(p + i) / total)); });
}

template <class T>
void gumbel(const T* x, const RandomStream& stream, std::uint64_t first, std::size_t n, T* y) {
  for_uniforms<T>(stream, first, n, [&](std::size_t at, std::size_t count, const T* u) {  // u is at least 2^-24
    for_lanes(count, [&](std::size_t i, auto lanes) {
      lanes.store(y + at + i, snap(lanes.load(x + at + i) - snap(log(negate(log(lanes.load(u + i)))))));
    });
  });
}

template <class T>
void one_hot_row(const T* p, std::size_t n, T* y) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < n; ++i)
    if (p[i] > p[best] || (is_nan(p[best]) && !is_nan(p[i]))) best = i;
  for (std::size_t i = 0; i < n; ++i) y[i] = i == best ? T{1} : T{0};
}

template <class T>
constexpr SoftmaxKernels<T> kKernels = {
    .softmax_row = softmax_row<T>,
    .backward_row = backward_row<T>,
    .masked_row = masked_row<T>,
    .gumbel = gumbel<T>,
    .one_hot_row = one_hot_row<T>,
};

}  // namespace

extern const PerElement<SoftmaxKernels> softmax_kernels;
const PerElement<SoftmaxKernels> softmax_kernels = {kKernels<float>, kKernels<double>};

}  // namespace loom::inline LOOM_TARGET
