// Prints the strongest SIMD target that this CPU runs: what LOOM_TARGETS=native compiles, with its variants.

#include <cstdio>

#include "simd/target.h"

int main() {
  const char* best = "";
#define LOOM_SIMD_TARGET(name, ...) \
  if (loom::cpu_runs(loom::Isa::name)) best = #name;
#include "simd/targets.inc"
  std::printf("%s", best);
}
