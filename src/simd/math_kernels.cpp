#include "simd/math_kernels.h"

#include "loom_targets.h"
#include "simd/target.h"

namespace loom {

#define LOOM_DECLARE(target)             \
  namespace target {                     \
  extern const MathKernels math_kernels; \
  }
LOOM_COMPILED_TARGETS(LOOM_DECLARE)
#undef LOOM_DECLARE

MathKernelList runnable_math_kernels() {
  MathKernelList list{};
#define LOOM_ADD(target) \
  if (cpu_runs(Isa::target)) list.tables[list.count++] = &target::math_kernels;
  LOOM_COMPILED_TARGETS(LOOM_ADD)
#undef LOOM_ADD
  return list;
}

}  // namespace loom
