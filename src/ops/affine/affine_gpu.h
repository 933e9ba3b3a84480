#pragma once
// Forms of affine.h on graphics cards: each records the kernels of the function of its name.

#include "ops/affine/affine.h"

namespace loom::gpu {

void affine(const Exec& exec, const float* x, std::size_t samples, std::size_t channels, std::size_t inner,
            const float* numbers, float* y);

}  // namespace loom::gpu
