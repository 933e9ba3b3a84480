#include "simd/target.h"

namespace loom {

// A row's question on its own kind of processor; no other kind runs it, nor knows the names of its features.
#define LOOM_RUNS_ON_any(features) true
#define LOOM_RUNS_ON_x86(features) false
#define LOOM_RUNS_ON_arm(features) false
#define LOOM_RUNS_ON_wasm(features) false
#if defined(__x86_64__) || defined(__i386__)
#undef LOOM_RUNS_ON_x86
#define LOOM_RUNS_ON_x86(features) (true features)
#define LOOM_NEEDS(feature) &&__builtin_cpu_supports(#feature)
#elif defined(__aarch64__)
#undef LOOM_RUNS_ON_arm
#define LOOM_RUNS_ON_arm(features) true
#elif defined(__wasm__)  // a module with SIMD does not load where there is none
#undef LOOM_RUNS_ON_wasm
#define LOOM_RUNS_ON_wasm(features) true
#endif

bool cpu_runs(Isa isa) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_cpu_init();  // a library that is loaded on Windows has not asked yet
#endif
#define LOOM_SIMD_TARGET(name, processor, bytes, features) \
  if (isa == Isa::name) return LOOM_RUNS_ON_##processor(features);
#include "simd/targets.inc"
  return false;
}
#undef LOOM_NEEDS

}  // namespace loom
