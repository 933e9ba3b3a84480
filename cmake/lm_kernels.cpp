// Empty tables of kernels for loom-lm.wasm and libloom-lm.so, in place of files src/ops/*/*_cpu.cpp: operations of training and of
// layers that cmake/lm_kinds.cpp leaves out. Compiled once for each instruction set, LOOM_TARGET. tests/outside/wasm.mjs reads the linker's map: no function that starts one of them is in the
// module, but for gaps, which passes of targets start and no export runs.
#include "ops/conv/conv.h"
#include "ops/dropout/dropout.h"
#include "ops/effect/effect.h"
#include "ops/formula/formula.h"
#include "ops/gap/gap.h"
#include "ops/kmeans/kmeans.h"
#include "ops/l2_norm/l2_norm.h"
#include "ops/loss/direction_loss.h"
#include "ops/loss/element_loss.h"
#include "ops/loss/softmax_loss.h"
#include "ops/mix/mix.h"
#include "ops/noise/noise.h"
#include "ops/pool/pool.h"
#include "ops/recurrent/recurrent.h"
#include "ops/scan/scan.h"
#include "ops/softmax/combine.h"
#include "ops/softmax/softmax.h"
#include "ops/statistics/statistics.h"
#include "ops/unfold/unfold.h"
#include "ops/update/update.h"
#include "ops/velocity/velocity.h"

namespace loom::inline LOOM_TARGET {

#define LOOM_WITHOUT(name, Kernels)                \
  extern const PerElement<Kernels> name##_kernels; \
  constinit const PerElement<Kernels> name##_kernels{};
LOOM_WITHOUT(cell, CellKernels)
LOOM_WITHOUT(combine, CombineKernels)
LOOM_WITHOUT(conv, ConvKernels)
LOOM_WITHOUT(direction_loss, DirectionLossKernels)
LOOM_WITHOUT(dropout, DropoutKernels)
LOOM_WITHOUT(effect, EffectKernels)
LOOM_WITHOUT(element_loss, ElementLossKernels)
LOOM_WITHOUT(formula, FormulaKernels)
LOOM_WITHOUT(gap, GapKernels)
LOOM_WITHOUT(kmeans, KmeansKernels)
LOOM_WITHOUT(l2_norm, L2NormKernels)
LOOM_WITHOUT(mix, MixKernels)
LOOM_WITHOUT(noise, NoiseKernels)
LOOM_WITHOUT(pool, PoolKernels)
LOOM_WITHOUT(scan, ScanKernels)
LOOM_WITHOUT(softmax, SoftmaxKernels)
LOOM_WITHOUT(softmax_loss, SoftmaxLossKernels)
LOOM_WITHOUT(sparse_softmax, SparseSoftmaxKernels)
LOOM_WITHOUT(statistics, StatisticsKernels)
LOOM_WITHOUT(unfold, UnfoldKernels)
LOOM_WITHOUT(update, UpdateKernels)
LOOM_WITHOUT(velocity, VelocityKernels)
#undef LOOM_WITHOUT

}  // namespace loom::inline LOOM_TARGET
