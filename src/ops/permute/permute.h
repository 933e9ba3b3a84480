#pragma once
// y = x with its axes in another order: axis i of y is axis axes[i] of x. Values are copied as they are.

#include <span>

#include "backend/exec.h"

namespace loom {

// axes: a permutation of 0 .. rank - 1; y has the shape that it makes of x's.
void permute(const Exec& exec, const ConstView& x, std::span<const std::size_t> axes, const View& y);

// y, of these extents, is x at `start` plus the steps of each index: elements, modulo 2^64 where an axis goes back.
void take_by_steps(const Exec& exec, ConstTensor x, std::size_t start, std::span<const std::size_t> extents,
                   std::span<const std::size_t> steps, void* y);

}  // namespace loom
