#pragma once
// Gradients of y = x / r * gamma, r = sqrt(mean(x^2) + eps), each row on its own:
//   n = x / r;  dx = (gamma dy - n mean(gamma dy n)) / r, means by lanes16;  dgamma = sum over rows of dy n, chain64 in blocks of rows
// Snapped: n, gamma dy, the mean, its product with n, the difference, dy n and the results.

#include "backend/exec.h"

namespace loom {

// dx may be dy's memory. dgamma may be null; the rows are summed in blocks of `block` (numerics N-05).
void rms_norm_gradient(const Exec& exec, ConstTensor x, const void* gamma, double eps, ConstTensor dy, Tensor dx, void* dgamma, std::size_t block);

template <class T>
struct RmsGradientKernels {
  // Also leaves dy n in `products`.
  void (*row)(const T* x, const T* gamma, double eps, const T* dy, std::size_t cols, T* dx, T* products);
};

}  // namespace loom
