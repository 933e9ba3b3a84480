#include "ops/all.h"

#include "loom_targets.h"

namespace loom {

#define LOOM_DECLARE(target)             \
  namespace target {                     \
  extern const KernelTable kernel_table; \
  }
LOOM_COMPILED_TARGETS(LOOM_DECLARE)
#undef LOOM_DECLARE
#define LOOM_DECLARE(variant, target)        \
  namespace variant {                        \
  extern const MatmulKernels matmul_kernels; \
  }
LOOM_COMPILED_VARIANTS(LOOM_DECLARE)
#undef LOOM_DECLARE

namespace {
template <class Kernels>
const Kernels* chosen(const Kernels* of_table, const MatmulKernels*) {
  return of_table;
}
const MatmulKernels* chosen(const MatmulKernels*, const MatmulKernels* products) { return products; }
}  // namespace

KernelTable with_products(const KernelTable& table, const MatmulKernels& products) {
  return {
#define LOOM_KERNELS(name, Kernels) .name = *chosen(&table.name, &products),
#define LOOM_ELEMENT_KERNELS(name, Kernels) .name = table.name,
#include "ops/kernels.inc"
  };
}

Result<const KernelTable*> kernels_for(Isa isa) {
#define LOOM_OFFER(target) \
  if (isa == Isa::target && cpu_runs(isa)) return &target::kernel_table;
  LOOM_COMPILED_TARGETS(LOOM_OFFER)
#undef LOOM_OFFER
#define LOOM_OFFER(variant, target)                                                                \
  if (isa == Isa::variant && is_usable(isa)) {                                                     \
    static const KernelTable table = with_products(target::kernel_table, variant::matmul_kernels); \
    return &table;                                                                                 \
  }
  LOOM_COMPILED_VARIANTS(LOOM_OFFER)
#undef LOOM_OFFER
  std::string known;
  for (const Isa u : usable_isas()) known += (known.empty() ? "" : " ") + std::string(name(u));
  return fail(Code::Unsupported, "this CPU or build has no {}; it has: {}", name(isa), known);
}

}  // namespace loom
