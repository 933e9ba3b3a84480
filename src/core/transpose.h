#pragma once
// Transposition, for changes of a matrix layout.

#include <cstddef>

namespace loom {

// to[c * to_stride + r] = from[r * from_stride + c] for r < rows, c < cols; strides in elements. The two do not
// overlap.
void transpose(const float* from, std::size_t from_stride, std::size_t rows, std::size_t cols, float* to,
               std::size_t to_stride);
void transpose(const double* from, std::size_t from_stride, std::size_t rows, std::size_t cols, double* to,
               std::size_t to_stride);

}  // namespace loom
