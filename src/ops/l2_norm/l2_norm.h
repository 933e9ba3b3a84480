#pragma once
// The Euclidean norm of a whole tensor, in its element type: sqrt(sum of squares by lanes16 over all elements), snapped. The root is stored and not
// the sum, of which a small one would not pass snap. Each block of lanes16 (1 024 elements) may be summed by another thread.

#include "backend/exec.h"

namespace loom {

// y[0] = sqrt(sum of snap(x factor)^2); y has one element. `factor` is a power of two: below 1 where the squares would leave the range of the type.
// Scratch: 16 numbers per block.
void l2_norm(const Exec& exec, ConstTensor x, double factor, Tensor y);

template <class T>
struct L2NormKernels {
  void (*block)(const T* x, T factor, std::size_t n, T* lanes);  // sums of the sixteen lanes of at most 1 024 elements
  void (*root)(T* y);                                            // of the sum in y[0], in its place
};

}  // namespace loom
