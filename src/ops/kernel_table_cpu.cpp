#include "ops/all.h"

namespace loom::inline LOOM_TARGET {

#define LOOM_KERNELS(name, Kernels) extern const Kernels name##_kernels;
#define LOOM_ELEMENT_KERNELS(name, Kernels) extern const PerElement<Kernels> name##_kernels;
#include "ops/kernels.inc"

extern const KernelTable kernel_table;
constinit const KernelTable kernel_table = {
#define LOOM_KERNELS(name, Kernels) .name = name##_kernels,
#define LOOM_ELEMENT_KERNELS(name, Kernels) .name = name##_kernels,
#include "ops/kernels.inc"
};

}  // namespace loom::inline LOOM_TARGET
