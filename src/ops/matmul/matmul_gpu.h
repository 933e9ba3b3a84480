#pragma once
// Forms of matmul.h on graphics cards: each records the kernels of the function of its name.

#include "ops/matmul/matmul.h"

namespace loom::gpu {

void matmul(const Exec& exec, ConstTensor x, std::span<const MatmulJob> jobs);

}  // namespace loom::gpu
