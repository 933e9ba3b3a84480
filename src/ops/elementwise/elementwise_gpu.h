#pragma once
// Forms of elementwise.h on graphics cards: each records the kernels of the function of its name.

#include "ops/elementwise/elementwise.h"

namespace loom::gpu {

void add(const Exec& exec, ConstTensor a, ConstTensor b, Tensor y);
void multiply(const Exec& exec, ConstTensor a, ConstTensor b, Tensor y);
void scale(const Exec& exec, ConstTensor x, double factor, Tensor y);
void add_to_rows(const Exec& exec, ConstTensor x, const void* row, Tensor y);
void divide(const Exec& exec, ConstTensor x, double divisor, Tensor y);
void fill(const Exec& exec, Tensor y, double value);
void copy(const Exec& exec, ConstTensor x, Tensor y);
void activate(const Exec& exec, const ActivationFn& fn, ConstTensor x, Tensor y);
void activate_backward(const Exec& exec, const ActivationFn& fn, ConstTensor x, ConstTensor dy, Tensor dx);
void gated(const Exec& exec, const ActivationFn& fn, ConstTensor gate, ConstTensor up, Tensor y);
void gated_backward(const Exec& exec, const ActivationFn& fn, ConstTensor gate, ConstTensor up, ConstTensor dy,
                    Tensor dgate, Tensor dup);

}  // namespace loom::gpu
