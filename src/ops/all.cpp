#include "ops/all.h"

namespace loom {

#define LOOM_COMPILED_TARGET(t)      \
  namespace t {                      \
  const KernelTable& kernel_table(); \
  }
#include "backend/cpu/targets.inc"
#undef LOOM_COMPILED_TARGET

Result<const KernelTable*> kernels_for(Isa isa) {
  bool usable = false;
  for (const Isa u : usable_isas()) usable |= u == isa;
  if (usable) {
    switch (isa) {
#define LOOM_COMPILED_TARGET(t) \
  case Isa::t: return &t::kernel_table();
#include "backend/cpu/targets.inc"
#undef LOOM_COMPILED_TARGET
      default: break;
    }
  }
  std::string known;
  for (const Isa u : usable_isas()) known += (known.empty() ? "" : " ") + std::string(name(u));
  return fail(Code::Unsupported, "this CPU or build has no {}; it has: {}", name(isa), known);
}

}  // namespace loom
