#include "simd/target.h"

namespace loom {

// What the flags of cmake/LoomToolchain.cmake let the compiler use, no less; the builtin also asks the operating system.
bool cpu_runs(Target target) {
  switch (target) {
    case Target::scalar: return true;
#if defined(__x86_64__) || defined(__i386__)
    case Target::sse4: return __builtin_cpu_supports("sse4.1") && __builtin_cpu_supports("ssse3");
    case Target::avx2: return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi2");
    case Target::avx512:
      return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("f16c") &&
             __builtin_cpu_supports("bmi2");
#elif defined(__aarch64__)
    case Target::neon: return true;
#elif defined(__wasm__)  // a module with SIMD does not load where there is none
    case Target::wasm128: return true;
#endif
    default: return false;
  }
}

}  // namespace loom
