#pragma once
// Forms of magnitude.h on graphics cards: each records the kernels of the function of its name.

#include "ops/magnitude/magnitude.h"

namespace loom::gpu {

void magnitude_bounds(const Exec& exec, std::span<const ConstTensor> x, Tensor bounds);
void check_finite(const Exec& exec, ConstTensor x, Tensor failed);
// The largest magnitudes of parts of x by their bits: that of all is the largest of them. Stored in the arena.
struct Magnitudes {
  const void* bits;
  std::size_t count;
};
Magnitudes largest_magnitudes(const Exec& exec, ConstTensor x);

}  // namespace loom::gpu
