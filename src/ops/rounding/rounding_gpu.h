#pragma once
// Forms of rounding.h on graphics cards: each records the kernels of the function of its name.

#include "ops/rounding/rounding.h"

namespace loom::gpu {

void round_to(const Exec& exec, Tensor x, Mixed mixed, bool gradients);

}  // namespace loom::gpu
