#include "ops/statistics/statistics.h"

#include "ops/non_finite.h"
#include "simd/rows.h"

namespace loom::inline LOOM_TARGET {
namespace {

enum Figure : std::uint8_t { kAvg, kStd, kMax, kMin, kActive, kTotal };

// The larger and the smaller of two, of which a NaN loses.
template <class T>
LOOM_INLINE T larger(T a, T b) {
  return b > a || is_nan(a) ? b : a;
}
template <class T>
LOOM_INLINE T smaller(T a, T b) {
  return b < a || is_nan(a) ? b : a;
}

template <class T>
void block(const T* x, std::size_t n, T* to, T* extremes) {
  Lanes<T> sum = zeros<T>(), active = zeros<T>();
  const Lanes<T> least = splat(static_cast<T>(1e-6)), one = splat(T{1});
  for_lanes(n, [&](std::size_t i, auto lanes) {
    const Lanes<T> v = lanes.load(x + i);
    sum = sum + v;
    active = active + select(abs(v) > least, one, zeros<T>());
  });
  store(to, sum), store(to + kLanes, active);
  T most = x[0], low = x[0];
  for (std::size_t i = 1; i < n; ++i) most = larger(most, x[i]), low = smaller(low, x[i]);
  extremes[0] = most, extremes[1] = low;
}

template <class T>
void spread(const T* x, std::size_t n, const T* mean, T* to) {
  Lanes<T> squares = zeros<T>();
  const Lanes<T> middle = splat(*mean);
  for_lanes(n, [&](std::size_t i, auto lanes) {
    const Lanes<T> d = lanes.keep(snap(lanes.load(x + i) - middle));
    squares = squares + d * d;
  });
  store(to, squares);
}

template <class T>
void mean(const T* sums, std::size_t n, T* figures) {
  figures[kAvg] = snap(sums[0] / static_cast<T>(n));
}

template <class T>
void finish(const T* sums, const T* squares, const T* extremes, std::size_t blocks, std::size_t n, T* figures) {
  figures[kStd] = snap(square_root(*squares / static_cast<T>(n)));
  T most = extremes[0], least = extremes[1];
  for (std::size_t b = 1; b < blocks; ++b)
    most = larger(most, extremes[2 * b]), least = smaller(least, extremes[2 * b + 1]);
  figures[kMax] = most, figures[kMin] = least, figures[kActive] = sums[1], figures[kTotal] = static_cast<T>(n);
}

template <class T>
constexpr StatisticsKernels<T> kKernels = {
    .block = block<T>, .spread = spread<T>, .mean = mean<T>, .finish = finish<T>};

}  // namespace

extern const PerElement<StatisticsKernels> statistics_kernels;
const PerElement<StatisticsKernels> statistics_kernels = {kKernels<float>, kKernels<double>};

}  // namespace loom::inline LOOM_TARGET
