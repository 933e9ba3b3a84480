#pragma once
// Forms of l2_norm.h on graphics cards: each records the kernels of the function of its name.

#include "ops/l2_norm/l2_norm.h"

namespace loom::gpu {

void l2_norm(const Exec& exec, ConstTensor x, Tensor norm);
void clip_factors(const Exec& exec, ConstTensor norms, float limit, Tensor clip);  // 0: no limit
void scale_by(const Exec& exec, ConstTensor clip, Tensor x);

}  // namespace loom::gpu
