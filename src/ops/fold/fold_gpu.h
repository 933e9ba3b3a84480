#pragma once
// Forms of fold.h on graphics cards: each records the kernels of the function of its name.

#include "ops/fold/fold.h"

namespace loom::gpu {

void fold(const Exec& exec, Fold how, const float* x, const FoldAxes& kept, const FoldAxes& reduced, float* y);

}  // namespace loom::gpu
