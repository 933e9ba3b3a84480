#pragma once
// Forms of formula.h on graphics cards: each records the kernels of the function of its name.

#include "ops/formula/formula.h"

namespace loom::gpu {

// n elements of the task, whose inputs are all there is.
void evaluate(const Exec& exec, const Formula& formula, const FormulaTask<float>& task, std::size_t n);

}  // namespace loom::gpu
