#include "ops/all.h"

namespace loom::inline LOOM_TARGET {

extern const MatmulKernels matmul_kernels;
extern const PerElement<NormKernels> norm_kernels;
extern const PerElement<RopeKernels> rope_kernels;
extern const AttentionKernels attention_kernels;
extern const PerElement<SequenceAttentionKernels> sequence_attention_kernels;
extern const PerElement<ElementwiseKernels> elementwise_kernels;
extern const PerElement<GemmKernels> gemm_kernels;
extern const PerElement<GapKernels> gap_kernels;
extern const PerElement<PoolKernels> pool_kernels;
extern const PerElement<SoftmaxKernels> softmax_kernels;
extern const PerElement<KmeansKernels> kmeans_kernels;
extern const PerElement<CellKernels> cell_kernels;
extern const PerElement<MixKernels> mix_kernels;
extern const PerElement<ConvKernels> conv_kernels;
extern const PerElement<UpdateKernels> update_kernels;
extern const PerElement<ScanKernels> scan_kernels;

const KernelTable& kernel_table() {
  static const KernelTable table = {matmul_kernels,      norm_kernels, rope_kernels, attention_kernels, sequence_attention_kernels,
                                    elementwise_kernels, gemm_kernels, gap_kernels, pool_kernels, softmax_kernels, kmeans_kernels,
                                    cell_kernels,        mix_kernels,  conv_kernels, update_kernels, scan_kernels};
  return table;
}

}  // namespace loom::inline LOOM_TARGET
