#pragma once
// Forms of gap.h on graphics cards: each records the kernels of the function of its name.

#include "ops/gap/gap.h"

namespace loom::gpu {

void secant_width(const Exec& exec, ConstTensor x, double step, Tensor width);
void secant_gap(const Exec& exec, const ActivationFn& fn, ConstTensor x, ConstTensor width, ConstTensor e, Tensor out);
// low and high: the range of fn.
void plain_gap(const Exec& exec, const ActivationFn& fn, double low, double high, ConstTensor x, ConstTensor e,
               Tensor out);
void signed_gap(const Exec& exec, ConstTensor x, ConstTensor e, Tensor y);
void add_size_of_columns(const Exec& exec, ConstTensor w, void* sums);
void close_gap(const Exec& exec, const void* sums, double threshold, bool divide, ConstTensor base, Tensor d);
void clamp(const Exec& exec, double limit, Tensor d, ConstTensor failed);
void simplex_gap(const Exec& exec, ConstTensor p, ConstTensor e, std::span<const SoftmaxRun> runs, Tensor out);
void norm_gap(const Exec& exec, const NormGap& norm, ConstTensor x, const void* gamma, ConstTensor e, Tensor out);
void direction_gap(const Exec& exec, ConstTensor e, ConstTensor b, ConstTensor y, std::size_t branch, Tensor q);
void mean_of_column(const Exec& exec, ConstTensor p, std::size_t i, ConstTensor factor, Tensor mean);
void gap_figures(const Exec& exec, ConstTensor a, ConstTensor e, const Aim& aim, Tensor figures, Tensor failed);

}  // namespace loom::gpu
