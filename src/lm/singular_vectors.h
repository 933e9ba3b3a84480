#pragma once
// The largest singular triples of a matrix, for adapters that start from them (PiSSA).

#include <span>
#include <vector>

#include "core/error.h"

namespace loom {

// Returns `count` orthonormal left vectors [count, rows] of w [rows, cols], those of the largest singular values, by
// the Lanczos process with full reorthogonalisation in f64. NonFinite; InvalidArgument for more than min(rows, cols).
Result<std::vector<double>> left_singular_vectors(std::span<const float> w, std::size_t rows, std::size_t cols,
                                                  std::size_t count);

}  // namespace loom
