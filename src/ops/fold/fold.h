#pragma once
// Folds along any axes, f32: y[i] over the elements of x at kept(i) + reduced(k), k ascending. Sums are one chain in
// f64, rounded once; the quotient of a mean is rounded to f64 before. Results are snapped. For the largest and smallest
// element the first NaN wins.

#include <span>

#include "backend/exec.h"

namespace loom {

enum class Fold : std::uint8_t { Sum, Mean, SumOfSquares, SumOfSizes, Largest, Smallest };

// Indices of these extents walk through x by steps, in elements; the last axis is the fastest.
struct FoldAxes {
  std::span<const std::size_t> extents, steps;
  std::size_t count() const {
    std::size_t n = 1;
    for (const std::size_t extent : extents) n *= extent;
    return n;
  }
  std::size_t at(std::size_t i) const {
    std::size_t offset = 0;
    for (std::size_t axis = extents.size(); axis-- > 0; i /= extents[axis]) offset += i % extents[axis] * steps[axis];
    return offset;
  }
};

// A thread of a card folds an element alone: longer ones are for this computer.
inline constexpr std::size_t kMostFolded = 1u << 15;
inline constexpr std::size_t kFoldAxes = 16;

void fold(const Exec& exec, Fold how, const float* x, const FoldAxes& kept, const FoldAxes& reduced, float* y);

}  // namespace loom
