#pragma once
// Figures of a whole tensor, in its element type (engine L-150). Sums are lanes16 over its elements in order; two
// passes, the mean and then the mean of (v - mean)^2. NaN loses in max and min.

#include "backend/exec.h"

namespace loom {

// The figures as the host knows them, in the order in which they stand in a tensor.
struct TensorStats {
  double avg = 0, std = 0;  // population
  double max = 0, min = 0;
  double active = 0;  // elements with |v| > 1e-6
  double total = 0;   // elements

  static constexpr std::size_t kCount = 6;
  static TensorStats read(const ConstTensor& figures);
};

// figures [kCount], of the element type of x.
void tensor_statistics(const Exec& exec, ConstTensor x, Tensor figures);

template <class T>
struct StatisticsKernels {
  // Reads a block of at most kLaneBlock elements. lanes [2][16] take its sum and the number of its active elements,
  // extremes [2] its largest and its least.
  void (*block)(const T* x, std::size_t n, T* lanes, T* extremes);
  void (*spread)(const T* x, std::size_t n, const T* mean, T* lanes);  // lanes [16] of the sum of (x - mean)^2
  void (*mean)(const T* sums, std::size_t n, T* figures);
  void (*finish)(const T* sums, const T* squares, const T* extremes, std::size_t blocks, std::size_t n, T* figures);
};

}  // namespace loom
