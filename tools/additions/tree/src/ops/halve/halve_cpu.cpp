#include "ops/halve/halve.h"

#include "simd/rows.h"

namespace loom::inline LOOM_TARGET {
namespace {

template <class T>
void halve_all(const T* x, std::size_t n, T* y) {
  const Lanes<T> half = splat(T{0.5});
  for_lanes(n, [&](std::size_t i, auto lanes) { lanes.store(y + i, snap(lanes.load(x + i) * half)); });
}

template <class T>
constexpr HalveKernels<T> kHalveKernels = {.halve = halve_all<T>};

}  // namespace

extern const PerElement<HalveKernels> halve_kernels;
const PerElement<HalveKernels> halve_kernels = {kHalveKernels<float>, kHalveKernels<double>};

}  // namespace loom::inline LOOM_TARGET
