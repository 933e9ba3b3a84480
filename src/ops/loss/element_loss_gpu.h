#pragma once
// Forms of element_loss.h on graphics cards: each records the kernels of the function of its name.

#include "ops/loss/element_loss.h"

namespace loom::gpu {

void element_loss(const Exec& exec, ElementLoss loss, double parameter, ConstTensor o, ConstTensor t,
                  const RowScale& scale, Tensor values, Tensor gradient);

}  // namespace loom::gpu
