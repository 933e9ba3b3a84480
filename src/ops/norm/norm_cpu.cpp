#include "ops/norm/norm.h"
#include "simd/rows.h"

namespace loom::inline LOOM_TARGET {
namespace {

LOOM_INLINE float root(float x) { return __builtin_sqrtf(x); }
LOOM_INLINE double root(double x) { return __builtin_sqrt(x); }

template <class T>
void rms_norm_row(const T* x, const T* gamma, double eps, std::size_t cols, T* y) {
  Lanes<T> squares = zeros<T>();
  for_lanes(cols, [&](std::size_t i, auto tail) {
    const Lanes<T> v = tail.load(x + i);
    squares = squares + v * v;
  });
  const T mean = fold(squares) / static_cast<T>(cols);
  const Lanes<T> rms = splat(root(mean + static_cast<T>(eps)));
  for_lanes(cols, [&](std::size_t i, auto tail) { tail.store(y + i, snap(snap(tail.load(x + i) / rms) * tail.load(gamma + i))); });
}

template <class T>
void layer_norm_row(const T* x, const T* gamma, const T* beta, double eps, std::size_t cols, T* y) {
  const auto n = static_cast<T>(cols);
  Lanes<T> sum = zeros<T>();
  for_lanes(cols, [&](std::size_t i, auto tail) { sum = sum + tail.load(x + i); });
  const Lanes<T> mean = splat(fold(sum) / n);
  Lanes<T> squares = zeros<T>();
  for_lanes(cols, [&](std::size_t i, auto tail) {
    const Lanes<T> d = tail.keep(snap(tail.load(x + i) - mean));
    squares = squares + d * d;
  });
  const Lanes<T> deviation = splat(root(fold(squares) / n + static_cast<T>(eps)));
  for_lanes(cols, [&](std::size_t i, auto tail) {
    Lanes<T> v = snap(snap(snap(tail.load(x + i) - mean) / deviation) * tail.load(gamma + i));
    if (beta) v = snap(v + tail.load(beta + i));
    tail.store(y + i, v);
  });
}

template <class T>
constexpr NormKernels<T> kKernels = {rms_norm_row<T>, layer_norm_row<T>};

}  // namespace

extern const PerElement<NormKernels> norm_kernels;
const PerElement<NormKernels> norm_kernels = {kKernels<float>, kKernels<double>};

}  // namespace loom::inline LOOM_TARGET
