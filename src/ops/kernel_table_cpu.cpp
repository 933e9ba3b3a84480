#include "ops/all.h"

namespace loom::inline LOOM_TARGET {

extern const MatmulKernels matmul_kernels;
extern const PerElement<NormKernels> norm_kernels;
extern const RopeKernels rope_kernels;
extern const AttentionKernels attention_kernels;
extern const PerElement<ElementwiseKernels> elementwise_kernels;
extern const PerElement<GemmKernels> gemm_kernels;
extern const PerElement<ConvKernels> conv_kernels;

const KernelTable& kernel_table() {
  static const KernelTable table = {matmul_kernels, norm_kernels, rope_kernels, attention_kernels, elementwise_kernels, gemm_kernels, conv_kernels};
  return table;
}

}  // namespace loom::inline LOOM_TARGET
