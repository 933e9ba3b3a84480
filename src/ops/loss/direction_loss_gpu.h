#pragma once
// Forms of direction_loss.h on graphics cards: each records the kernels of the function of its name.

#include "ops/loss/direction_loss.h"

namespace loom::gpu {

void cosine_loss(const Exec& exec, ConstTensor o, ConstTensor t, const RowScale& scale, Tensor values, Tensor gradient);
void unit_rows(const Exec& exec, ConstTensor x, Tensor unit, Tensor norm);
void unit_rows_backward(const Exec& exec, ConstTensor unit, ConstTensor norm, ConstTensor du, Tensor dx);

}  // namespace loom::gpu
