#pragma once
// Normal numbers from a counter stream by Box and Muller (engine N-08): uniforms 2k and 2k + 1 give the numbers 2k
// (cosine) and 2k + 1 (sine),
//   y = scale sqrt(-2 log u) cos(2 pi v), every step in the element type.

#include "backend/exec.h"
#include "core/philox.h"

namespace loom {

// y[i] = snap(scale * normal number i of the stream).
void normal_noise(const Exec& exec, double scale, const RandomStream& stream, Tensor y);

template <class T>
struct NoiseKernels {
  // Numbers [first, first + n) of the stream; `first` is a multiple of 4.
  void (*normal)(const RandomStream& stream, std::uint64_t first, T scale, std::size_t n, T* y);
};

}  // namespace loom
