#pragma once
// Forms of decide.h on graphics cards: each records the kernels of the function of its name.

#include "ops/decide/decide.h"

namespace loom::gpu {

void decide(const Exec& exec, Decision how, std::span<const FormulaInput> inputs, std::span<const std::size_t> dims,
            void* y);

}  // namespace loom::gpu
