#include "ops/norm/rms_gradient.h"
#include "simd/rows.h"

namespace loom::inline LOOM_TARGET {
namespace {

LOOM_INLINE float root(float x) { return __builtin_sqrtf(x); }
LOOM_INLINE double root(double x) { return __builtin_sqrt(x); }

template <class T>
void row(const T* x, const T* gamma, double eps, const T* dy, std::size_t cols, T* dx, T* products) {
  const auto n = static_cast<T>(cols);
  Lanes<T> squares = zeros<T>();
  for_lanes(cols, [&](std::size_t i, auto lanes) {
    const Lanes<T> v = lanes.load(x + i);
    squares = squares + v * v;
  });
  const Lanes<T> rms = splat(root(fold(squares) / n + static_cast<T>(eps)));
  Lanes<T> sum = zeros<T>();
  for_lanes(cols, [&](std::size_t i, auto lanes) {
    const Lanes<T> normed = lanes.keep(snap(lanes.load(x + i) / rms));
    sum = sum + snap(lanes.load(gamma + i) * lanes.load(dy + i)) * normed;
  });
  const Lanes<T> mean = splat(snap(fold(sum) / n));
  for_lanes(cols, [&](std::size_t i, auto lanes) {
    const Lanes<T> normed = snap(lanes.load(x + i) / rms), d = lanes.load(dy + i);
    lanes.store(products + i, snap(d * normed));
    lanes.store(dx + i, snap(snap(snap(lanes.load(gamma + i) * d) - snap(normed * mean)) / rms));
  });
}

}  // namespace

extern const PerElement<RmsGradientKernels> rms_gradient_kernels;
const PerElement<RmsGradientKernels> rms_gradient_kernels = {{row<float>}, {row<double>}};

}  // namespace loom::inline LOOM_TARGET
