#pragma once
// Normalisation of each row on its own; sums over the row by lanes16.
//   rms_norm   y = x / sqrt(mean(x^2) + eps) * gamma                      Zhang & Sennrich 2019
//   layer_norm y = (x - mean) / sqrt(mean((x - mean)^2) + eps) * gamma + beta, two passes     Ba et al. 2016
// Snapped: x - mean, every quotient and product before it meets gamma and beta, and the result.

#include "backend/exec.h"

namespace loom {

// gamma [cols], of the element type of x. x and y may be the same memory.
void rms_norm(const Exec& exec, ConstTensor x, const void* gamma, double eps, Tensor y);
// gamma, beta [cols]; beta may be null.
void layer_norm(const Exec& exec, ConstTensor x, const void* gamma, const void* beta, double eps, Tensor y);

template <class T>
struct NormKernels {
  void (*rms_norm_row)(const T* x, const T* gamma, double eps, std::size_t cols, T* y);
  void (*layer_norm_row)(const T* x, const T* gamma, const T* beta, double eps, std::size_t cols, T* y);
};

}  // namespace loom
