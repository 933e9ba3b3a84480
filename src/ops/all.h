#pragma once
// The waist: every operation's CPU kernels of one SIMD target, in one table. To add an op: its folder, one line here.

#include "backend/cpu/isa.h"
#include "ops/attention/attention.h"
#include "ops/conv/conv.h"
#include "ops/elementwise/elementwise.h"
#include "ops/gemm/gemm.h"
#include "ops/matmul/matmul.h"
#include "ops/norm/norm.h"
#include "ops/rope/rope.h"

namespace loom {

struct KernelTable {
  MatmulKernels matmul;
  PerElement<NormKernels> norm;
  RopeKernels rope;
  AttentionKernels attention;
  PerElement<ElementwiseKernels> elementwise;
  PerElement<GemmKernels> gemm;
  PerElement<ConvKernels> conv;
};

// The table of a target from usable_isas(); Unsupported for another.
Result<const KernelTable*> kernels_for(Isa isa);

}  // namespace loom
