#pragma once
// Forms of softmax_loss.h on graphics cards: each records the kernels of the function of its name.

#include "ops/loss/softmax_loss.h"

namespace loom::gpu {

// `weights`: those of the classes, in the element type.
void softmax_crossentropy(const Exec& exec, ConstTensor x, const SoftmaxTargets& targets,
                          std::span<const float> weights, const RowScale& scale, Tensor values, Tensor gradient);
void multi_head_crossentropy(const Exec& exec, ConstTensor x, const MultiHeadTargets& targets, const RowScale& scale,
                             Tensor values, Tensor gradient);

}  // namespace loom::gpu
