#include "ops/l2_norm/l2_norm.h"
#include "simd/rows.h"

namespace loom::inline LOOM_TARGET {
namespace {

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
void root(T* y) {
  *y = snap(square_root(*y));
}

template <class T>
constexpr L2NormKernels<T> kL2NormKernels = {.block = block<T>, .root = root<T>};

}  // namespace

extern const PerElement<L2NormKernels> l2_norm_kernels;
const PerElement<L2NormKernels> l2_norm_kernels = {kL2NormKernels<float>, kL2NormKernels<double>};

}  // namespace loom::inline LOOM_TARGET
