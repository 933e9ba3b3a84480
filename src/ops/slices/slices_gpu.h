#pragma once
// Forms of slices.h on graphics cards: each records the kernels of the function of its name.

#include "ops/slices/slices.h"

namespace loom::gpu {

void move_slices(const Exec& exec, Slices slices, ConstTensor from, SlicePlace from_place, Tensor to,
                 SlicePlace to_place, bool adds);

}  // namespace loom::gpu
