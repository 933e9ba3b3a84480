#pragma once
// Distributions over the entries of a row, and their gradients from the saved probabilities p (engine 3.13). z = x / T.
//   softmax    p = exp(z - max z) / sum exp(z - max z)                                  dz = p (dy - sum dy p)
//   sparsemax  p = max(0, z - tau), tau by sorting (Martins & Astudillo 2016)           dz = dy - mean of dy over the
//     support
//   entmax     p = max(0, (a - 1) z - tau)^(1 / (a - 1)) (Peters et al. 2019)           dz = s (dy - sum s dy / sum s),
//     s = p^(2 - a)
// dx = dz / T. Sums along a row are lanes16; the prefix sums of sparsemax and entmax run in sorted order, z - max being
// what is sorted. Snapped: z, z - max, exp, and every result. A row of sparsemax or entmax with a NaN is NaN
// throughout.

#include <cstdint>
#include <span>

#include "backend/exec.h"
#include "core/philox.h"

namespace loom {

// `count` distributions of `width` entries each, one after the other from `first` on in every row.
struct SoftmaxRun {
  std::size_t first = 0, width = 1, count = 1;
};

// Runs cover every row of x; p and x may be the same memory.
void softmax(const Exec& exec, ConstTensor x, double temperature, std::span<const SoftmaxRun> runs, Tensor p);
// dx may be dy.
void softmax_backward(const Exec& exec, ConstTensor p, ConstTensor dy, double temperature,
                      std::span<const SoftmaxRun> runs, Tensor dx);

// A mask says which entries count as seen: those above 0 in the mask of the call, [rows, n], or without one those of
// the layer's list and all beyond its end.
struct SoftmaxMask {
  std::span<const std::uint8_t> listed;
  const void* call = nullptr;
};
// Softmax over the seen entries; the others are 0, and so is a row without any. p may not be x.
void masked_softmax(const Exec& exec, ConstTensor x, double temperature, const SoftmaxMask& mask, Tensor p);

void sparsemax(const Exec& exec, ConstTensor x, double temperature, Tensor p);
void sparsemax_backward(const Exec& exec, ConstTensor p, ConstTensor dy, double temperature, Tensor dx);
// alpha in (1, 4]: 1.5 in sorted order, others by bisection (30 halvings in f32, 50 in f64) and one renormalisation.
void entmax(const Exec& exec, ConstTensor x, double temperature, double alpha, Tensor p);
void entmax_backward(const Exec& exec, ConstTensor p, ConstTensor dy, double temperature, double alpha, Tensor dx);

// y = x - ln(-ln u), u from Philox's domain 3 by element (Jang et al. 2017).
void add_gumbel_noise(const Exec& exec, ConstTensor x, std::uint64_t seed, std::uint32_t step, std::uint32_t site,
                      Tensor y, std::size_t first = 0);
// y = 1 at the largest entry of each row, the first of equals, else 0.
void one_hot_of_largest(const Exec& exec, ConstTensor p, Tensor y);

// This is the part of a SoftmaxMask for one row.
template <class T>
struct SoftmaxMaskRow {
  const T* call;  // n, or null
  const std::uint8_t* listed;
  std::size_t num_listed;
};
template <class T>
struct SoftmaxKernels {
  void (*softmax_row)(const T* x, T temperature, std::size_t n, T* p);
  void (*backward_row)(const T* p, const T* dy, T temperature, std::size_t n, T* dx);
  void (*masked_row)(const T* x, T temperature, const SoftmaxMaskRow<T>& mask, std::size_t n, T* p);
  // `first` is the number of x's first element in the stream.
  void (*gumbel)(const T* x, const RandomStream& stream, std::uint64_t first, std::size_t n, T* y);
  void (*one_hot_row)(const T* p, std::size_t n, T* y);
};
// Rows of n; `scratch` holds n as well. alpha of entmax() comes as factor = alpha - 1, power = 1 / (alpha - 1), and of
// its gradient as power = 2 - alpha; entmax15 is alpha = 1.5.
template <class T>
struct SparseSoftmaxKernels {
  void (*sparsemax)(const T* x, T temperature, std::size_t n, T* scratch, T* p);
  void (*sparsemax_backward)(const T* p, const T* dy, T temperature, std::size_t n, T* dx);
  void (*entmax15)(const T* x, T temperature, std::size_t n, T* scratch, T* p);
  void (*entmax)(const T* x, T temperature, T factor, T power, std::size_t n, T* scratch, T* p);
  void (*entmax15_backward)(const T* p, const T* dy, T temperature, std::size_t n, T* scratch, T* dx);
  void (*entmax_backward)(const T* p, const T* dy, T temperature, T power, std::size_t n, T* scratch, T* dx);
};

}  // namespace loom
