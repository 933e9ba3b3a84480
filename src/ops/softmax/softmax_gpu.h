#pragma once
// Forms of softmax.h on graphics cards: each records the kernels of the function of its name.

#include "ops/softmax/softmax.h"

namespace loom::gpu {

void softmax(const Exec& exec, ConstTensor x, double temperature, std::span<const SoftmaxRun> runs, Tensor p);
void softmax_backward(const Exec& exec, ConstTensor p, ConstTensor dy, double temperature,
                      std::span<const SoftmaxRun> runs, Tensor dx);
void masked_softmax(const Exec& exec, ConstTensor x, double temperature, const SoftmaxMask& mask, Tensor p);
void add_gumbel_noise(const Exec& exec, ConstTensor x, const RandomStream& stream, std::size_t first, Tensor y);
void one_hot_of_largest(const Exec& exec, ConstTensor p, Tensor y);
void sparsemax(const Exec& exec, ConstTensor x, double temperature, Tensor p);
void sparsemax_backward(const Exec& exec, ConstTensor p, ConstTensor dy, double temperature, Tensor dx);
void entmax(const Exec& exec, ConstTensor x, double temperature, double alpha, Tensor p);
void entmax_backward(const Exec& exec, ConstTensor p, ConstTensor dy, double temperature, double alpha, Tensor dx);

}  // namespace loom::gpu
