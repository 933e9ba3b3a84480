#pragma once
// Forms of statistics.h on graphics cards: each records the kernels of the function of its name.

#include "ops/statistics/statistics.h"

namespace loom::gpu {

void tensor_statistics(const Exec& exec, ConstTensor x, Tensor figures);

}  // namespace loom::gpu
