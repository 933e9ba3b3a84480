#pragma once
// Forms of mix.h on graphics cards: each records the kernels of the function of its name.

#include "ops/mix/mix.h"

namespace loom::gpu {

void mean_of_rows(const Exec& exec, ConstTensor x, std::size_t rows, Tensor y);
void mean_of_rows_backward(const Exec& exec, ConstTensor dy, std::size_t rows, Tensor dx);
void gate_weights(const Exec& exec, const GateRule& rule, ConstTensor z, Tensor p);
void gate_weights_backward(const Exec& exec, const GateRule& rule, ConstTensor z, ConstTensor p, ConstTensor q,
                           Tensor dz);
// f_i of every branch, [1, n]; and sum += factor * sum_i shares_i * mean of p_i.
void top_shares(const Exec& exec, const GateRule& rule, ConstTensor z, Tensor shares);
void add_balance(const Exec& exec, ConstTensor shares, ConstTensor p, double factor, Tensor sum);
void mix(const Exec& exec, ConstTensor p, const void* const* branches, Tensor y);
void mix_backward(const Exec& exec, ConstTensor p, std::size_t branch, ConstTensor dy, Tensor d);
void mix_gate_backward(const Exec& exec, ConstTensor dy, ConstTensor b, std::size_t branch, Tensor q);

}  // namespace loom::gpu
