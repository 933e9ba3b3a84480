#pragma once
// The waist: every operation's CPU kernels of one SIMD target, in one table. To add an op: its folder, one line here.

#include "backend/cpu/isa.h"
#include "ops/attention/attention.h"
#include "ops/attention/sequence_attention.h"
#include "ops/conv/conv.h"
#include "ops/elementwise/elementwise.h"
#include "ops/gap/gap.h"
#include "ops/gemm/gemm.h"
#include "ops/kmeans/kmeans.h"
#include "ops/matmul/matmul.h"
#include "ops/mix/mix.h"
#include "ops/norm/norm.h"
#include "ops/pool/pool.h"
#include "ops/recurrent/recurrent.h"
#include "ops/rope/rope.h"
#include "ops/scan/scan.h"
#include "ops/softmax/softmax.h"
#include "ops/update/update.h"

namespace loom {

struct KernelTable {
  MatmulKernels matmul;
  PerElement<NormKernels> norm;
  PerElement<RopeKernels> rope;
  AttentionKernels attention;
  PerElement<SequenceAttentionKernels> sequence_attention;
  PerElement<ElementwiseKernels> elementwise;
  PerElement<GemmKernels> gemm;
  PerElement<GapKernels> gap;
  PerElement<PoolKernels> pool;
  PerElement<SoftmaxKernels> softmax;
  PerElement<KmeansKernels> kmeans;
  PerElement<CellKernels> cell;
  PerElement<MixKernels> mix;
  PerElement<ConvKernels> conv;
  PerElement<UpdateKernels> update;
  PerElement<ScanKernels> scan;
};

// The table of a target from usable_isas(); Unsupported for another.
Result<const KernelTable*> kernels_for(Isa isa);

}  // namespace loom
