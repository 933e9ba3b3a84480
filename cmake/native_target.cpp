// Prints the strongest SIMD target that this CPU runs: what LOOM_TARGETS=native compiles.

#include <cstdio>

#include "simd/target.h"

int main() {
  const char* best = "scalar";
#define LOOM_TRY_TARGET(name) \
  if (loom::cpu_runs(loom::Target::name)) best = #name;
  LOOM_TRY_TARGET(neon)
  LOOM_TRY_TARGET(wasm128)
  LOOM_TRY_TARGET(sse4)
  LOOM_TRY_TARGET(avx2)
  LOOM_TRY_TARGET(avx512)
  std::printf("%s", best);
}
