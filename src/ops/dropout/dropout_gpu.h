#pragma once
// Forms of dropout.h on graphics cards: each records the kernels of the function of its name.

#include "ops/dropout/dropout.h"

namespace loom::gpu {

// As the kernel below has it.
void dropout(const Exec& exec, ConstTensor x, double least, double keep, const RandomStream& stream, Tensor y,
             std::size_t first);

}  // namespace loom::gpu
