#pragma once
// Forms of recurrent.h on graphics cards: each records the kernels of the function of its name.

#include "ops/recurrent/recurrent.h"

namespace loom::gpu {

void cell_forward(const Exec& exec, const CellForward& task, std::size_t t);
void cell_backward(const Exec& exec, const CellBackward& task, std::size_t t);
void gate_slopes(const Exec& exec, const GateSlopes& task);
void cell_gap(const Exec& exec, const CellBackward& task, const GateSlopes& slopes, double carry, std::size_t t);

}  // namespace loom::gpu
