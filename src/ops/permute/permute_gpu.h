#pragma once
// Forms of permute.h on graphics cards: each records the kernels of the function of its name.

#include "ops/permute/permute.h"

namespace loom::gpu {

// steps: elements of x from one index of an axis of y to the next.
void permute(const Exec& exec, const void* x, std::span<const std::size_t> extents, std::span<const std::size_t> steps,
             void* y, std::size_t start = 0);

}  // namespace loom::gpu
