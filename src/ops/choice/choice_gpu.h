#pragma once
// Forms of choice.h on graphics cards: each records the kernels of the function of its name.

#include "ops/choice/choice.h"

namespace loom::gpu {

void choose(const Exec& exec, ConstTensor x, std::span<const std::int32_t> banned, std::span<std::int32_t> ids);

}  // namespace loom::gpu
