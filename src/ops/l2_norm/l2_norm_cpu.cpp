#include "ops/l2_norm/l2_norm.h"
#include "simd/rows.h"

namespace loom::inline LOOM_TARGET {
namespace {

LOOM_INLINE float root_of(float x) { return __builtin_sqrtf(x); }
LOOM_INLINE double root_of(double x) { return __builtin_sqrt(x); }

template <class T>
void block(const T* x, T factor, std::size_t n, T* lanes) {
  const Lanes<T> factors = splat(factor);
  Lanes<T> sum = zeros<T>();
  if (factor == 1)
    for_lanes(n, [&](std::size_t i, auto part) {
      const Lanes<T> v = snap(part.load(x + i));
      sum = sum + v * v;
    });
  else
    for_lanes(n, [&](std::size_t i, auto part) {
      const Lanes<T> v = snap(part.load(x + i) * factors);
      sum = sum + v * v;
    });
  store(lanes, sum);
}

template <class T>
T join(const T* lanes, std::size_t blocks) {
  Lanes<T> total = zeros<T>();
  for (std::size_t b = 0; b < blocks; ++b) total = total + load(lanes + b * kLanes);
  return snap(root_of(fold(total)));
}

template <class T>
constexpr L2NormKernels<T> kL2NormKernels = {.block = block<T>, .join = join<T>};

}  // namespace

extern const PerElement<L2NormKernels> l2_norm_kernels;
const PerElement<L2NormKernels> l2_norm_kernels = {kL2NormKernels<float>, kL2NormKernels<double>};

}  // namespace loom::inline LOOM_TARGET
