#pragma once
// Forms of draw.h on graphics cards: each records the kernels of the function of its name.

#include "ops/draw/draw.h"

namespace loom::gpu {

void draw(const Exec& exec, ConstTensor x, std::span<const Drawing> drawings, std::span<const std::int32_t> recent,
          std::span<std::int32_t> ids);

}  // namespace loom::gpu
