#include "ops/all.h"

#include "loom_targets.h"

namespace loom {

#define LOOM_DECLARE(target)             \
  namespace target {                     \
  extern const KernelTable kernel_table; \
  }
LOOM_COMPILED_TARGETS(LOOM_DECLARE)
#undef LOOM_DECLARE

Result<const KernelTable*> kernels_for(Isa isa) {
#define LOOM_OFFER(target) \
  if (isa == Isa::target && cpu_runs(isa)) return &target::kernel_table;
  LOOM_COMPILED_TARGETS(LOOM_OFFER)
#undef LOOM_OFFER
  std::string known;
  for (const Isa u : usable_isas()) known += (known.empty() ? "" : " ") + std::string(name(u));
  return fail(Code::Unsupported, "this CPU or build has no {}; it has: {}", name(isa), known);
}

}  // namespace loom
