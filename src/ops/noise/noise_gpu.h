#pragma once
// Forms of noise.h on graphics cards: each records the kernels of the function of its name.

#include "ops/noise/noise.h"

namespace loom::gpu {

void normal_noise(const Exec& exec, double scale, const RandomStream& stream, Tensor y);

}  // namespace loom::gpu
