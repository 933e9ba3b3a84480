// Prints the strongest SIMD target that this CPU runs: what LOOM_TARGETS=native compiles.

#include <cstddef>
#include <cstdio>

#include "simd/target.h"

int main() {
  std::size_t best = 0;
  for (std::size_t i = 0; i < sizeof loom::kIsaNames / sizeof *loom::kIsaNames; ++i)
    if (loom::cpu_runs(static_cast<loom::Isa>(i))) best = i;
  std::printf("%s", loom::kIsaNames[best]);
}
