#pragma once
// Forms of combine.h on graphics cards: each records the kernels of the function of its name.

#include "ops/softmax/combine.h"

namespace loom::gpu {

void combine_tree(const Exec& exec, std::span<const std::size_t> levels, ConstTensor q, Tensor p, Tensor y);
void combine_tree_backward(const Exec& exec, std::span<const std::size_t> levels, ConstTensor q, ConstTensor p,
                           ConstTensor dy, Tensor dq);
void combine_adaptive(const Exec& exec, std::span<const std::size_t> cutoffs, ConstTensor q, Tensor y);
void combine_adaptive_backward(const Exec& exec, std::span<const std::size_t> cutoffs, ConstTensor q, ConstTensor dy,
                               Tensor dq);
void combine_mixture(const Exec& exec, std::size_t count, ConstTensor q, Tensor y);
void combine_mixture_backward(const Exec& exec, std::size_t count, ConstTensor q, ConstTensor dy, Tensor dq);

}  // namespace loom::gpu
