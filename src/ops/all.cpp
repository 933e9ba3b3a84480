#include "ops/all.h"

#include "loom_targets.h"

namespace loom {

#define LOOM_DECLARE(target)         \
  namespace target {                 \
  const KernelTable& kernel_table(); \
  }
LOOM_COMPILED_TARGETS(LOOM_DECLARE)
#undef LOOM_DECLARE

Result<const KernelTable*> kernels_for(Isa isa) {
  bool usable = false;
  for (const Isa u : usable_isas()) usable |= u == isa;
  if (usable) {
    switch (isa) {
#define LOOM_CASE(target) \
  case Isa::target: return &target::kernel_table();
      LOOM_COMPILED_TARGETS(LOOM_CASE)
#undef LOOM_CASE
      default: break;
    }
  }
  std::string known;
  for (const Isa u : usable_isas()) known += (known.empty() ? "" : " ") + std::string(name(u));
  return fail(Code::Unsupported, "this CPU or build has no {}; it has: {}", name(isa), known);
}

}  // namespace loom
