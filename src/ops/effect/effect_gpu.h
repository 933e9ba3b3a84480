#pragma once
// Forms of effect.h on graphics cards: each records the kernels of the function of its name.

#include "ops/effect/effect.h"

namespace loom::gpu {

void apply_effect(const Exec& exec, Effect effect, const RandomStream& stream, ConstTensor y0, ConstTensor m, Tensor y,
                  std::size_t counted);
// dm of a gate is that of sigmoid(m_0).
void apply_effect_backward(const Exec& exec, Effect effect, const RandomStream& stream, ConstTensor dy, ConstTensor y0,
                           ConstTensor m, Tensor dy0, Tensor dm, std::size_t counted);

}  // namespace loom::gpu
