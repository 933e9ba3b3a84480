#include "simd/math_kernels.h"

#include <array>

namespace loom {

// Each target's table lies in the namespace named after it (math_cpu.cpp).
#define LOOM_DECLARE(target) \
  namespace target {         \
  extern const MathKernels math_kernels; \
  }
LOOM_DECLARE(scalar)
LOOM_DECLARE(sse4)
LOOM_DECLARE(avx2)
LOOM_DECLARE(avx512)
LOOM_DECLARE(neon)
LOOM_DECLARE(wasm128)
#undef LOOM_DECLARE

std::span<const MathKernels* const> runnable_math_kernels() {
  static const auto list = [] {
    struct {
      std::array<const MathKernels*, 6> tables{};
      std::size_t count = 0;
    } found;
    [[maybe_unused]] const auto add = [&](const MathKernels& table, bool runs) {
      if (runs) found.tables[found.count++] = &table;
    };
#if LOOM_HAS_TARGET_SCALAR
    add(scalar::math_kernels, true);
#endif
#if LOOM_HAS_TARGET_SSE4
    add(sse4::math_kernels, __builtin_cpu_supports("sse4.1") && __builtin_cpu_supports("ssse3"));
#endif
#if LOOM_HAS_TARGET_AVX2
    add(avx2::math_kernels, __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi2"));
#endif
#if LOOM_HAS_TARGET_AVX512
    add(avx512::math_kernels, __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                                  __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vnni"));
#endif
#if LOOM_HAS_TARGET_NEON
    add(neon::math_kernels, true);
#endif
#if LOOM_HAS_TARGET_WASM128
    add(wasm128::math_kernels, true);
#endif
    return found;
  }();
  return std::span(list.tables).first(list.count);
}

}  // namespace loom
