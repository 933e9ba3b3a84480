#pragma once
// The waist: every operation's CPU kernels of one SIMD target, in one table. The list of them is ops/kernels.inc; what
// a table holds stands in the header of its op.

#include "backend/exec.h"

namespace loom {

#define LOOM_KERNELS(name, Kernels) struct Kernels;
#define LOOM_ELEMENT_KERNELS(name, Kernels) \
  template <class T>                        \
  struct Kernels;
#include "ops/kernels.inc"

struct KernelTable {
#define LOOM_KERNELS(name, Kernels) const Kernels& name;
#define LOOM_ELEMENT_KERNELS(name, Kernels) const PerElement<Kernels>& name;
#include "ops/kernels.inc"
};

// The table of a target with other products of matrices.
KernelTable with_products(const KernelTable& table, const MatmulKernels& products);

// The table of a target from usable_isas(); Unsupported for another.
Result<const KernelTable*> kernels_for(Isa isa);

}  // namespace loom
