#include "ops/noise/noise.h"

#include "simd/math.h"
#include "simd/philox.h"
#include "simd/rows.h"

namespace loom::inline LOOM_TARGET {
namespace {

template <class T>
void normal(const RandomStream& stream, std::uint64_t begin, T scale, std::size_t n, T* y) {
  const Lanes<T> minus_two = splat(T{-2}), turn = splat(static_cast<T>(6.283185307179586)), by = splat(scale);
  for_uniforms<T>(stream, begin, n, [&](std::size_t first, std::size_t count, const T* uniforms) {
    for (std::size_t at = 0; at < count; at += 2 * kLanes) {
      alignas(64) T u[kLanes], v[kLanes];
      for (std::size_t i = 0; i < kLanes; ++i) u[i] = uniforms[at + 2 * i], v[i] = uniforms[at + 2 * i + 1];
      const Lanes<T> radius = sqrt(minus_two * log(load(u))), angle = turn * load(v);
      store(u, snap(by * snap(radius * snap(cos(angle))))), store(v, snap(by * snap(radius * snap(sin(angle)))));
      for (std::size_t i = 0; i < 2 * kLanes && at + i < count; ++i)
        y[first + at + i] = i % 2 == 0 ? u[i / 2] : v[i / 2];
    }
  });
}

}  // namespace

extern const PerElement<NoiseKernels> noise_kernels;
const PerElement<NoiseKernels> noise_kernels = {{.normal = normal<float>}, {.normal = normal<double>}};

}  // namespace loom::inline LOOM_TARGET
