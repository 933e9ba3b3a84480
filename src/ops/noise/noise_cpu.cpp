#include "ops/noise/noise.h"

#include "simd/math.h"
#include "simd/rows.h"

namespace loom::inline LOOM_TARGET {
namespace {

template <class T>
void normal(const T* uniforms, std::size_t pairs, T scale, T* y) {
  const Lanes<T> minus_two = splat(T{-2}), turn = splat(static_cast<T>(6.283185307179586)), by = splat(scale);
  alignas(64) T u[kLanes], v[kLanes];
  for (std::size_t first = 0; first < pairs; first += kLanes) {
    const std::size_t n = pairs - first < kLanes ? pairs - first : kLanes;
    for (std::size_t i = 0; i < kLanes; ++i) {
      const std::size_t pair = first + (i < n ? i : 0);
      u[i] = uniforms[2 * pair], v[i] = uniforms[2 * pair + 1];
    }
    const Lanes<T> radius = sqrt(minus_two * log(load(u))), angle = turn * load(v);
    store(u, snap(by * snap(radius * snap(cos(angle))))), store(v, snap(by * snap(radius * snap(sin(angle)))));
    for (std::size_t i = 0; i < n; ++i) y[2 * (first + i)] = u[i], y[2 * (first + i) + 1] = v[i];
  }
}

}  // namespace

extern const PerElement<NoiseKernels> noise_kernels;
const PerElement<NoiseKernels> noise_kernels = {{.normal = normal<float>}, {.normal = normal<double>}};

}  // namespace loom::inline LOOM_TARGET
