#pragma once
// These ops tell how large the elements of a tensor are, and whether all of them are finite, in tensors that later ops
// and the end of a step read.

#include <span>

#include "backend/exec.h"

namespace loom {

// bound [1], of x's element: no magnitude in x is larger, and the largest is less than a sixteenth below; infinity
// where an element is no number.
void magnitude_bound(const Exec& exec, ConstTensor x, Tensor bound);
// Bounds of many tensors of one element type, into bounds [1, number of tensors].
void magnitude_bounds(const Exec& exec, std::span<const ConstTensor> x, Tensor bounds);
// failed [1] of f32 = 1 where an element of x is not finite, else as it was. Meant for a few elements: one thread looks
// at them.
void check_finite(const Exec& exec, ConstTensor x, Tensor failed);

template <class T>
struct MagnitudeKernels {
  void (*bound)(const T* x, std::size_t n, T* bound);
  void (*largest)(const T* bounds, std::size_t n, T* bound);
  void (*check)(const T* x, std::size_t n, float* failed);
};

}  // namespace loom
