#pragma once
// Attention reads the axes of its input as [batch, T, d], or as one sample [T, d].

#include "core/shape.h"

namespace loom {

inline std::size_t positions_of(const Shape& x) { return x.rank() < 2 ? 1 : x[x.rank() - 2]; }
// Rows that belong to sixteen samples (numerics N-05): two axes are one sample.
inline std::size_t block_of(const Shape& x) { return 16 * (x.rank() <= 2 ? x.rows() : x.rows() / x[0]); }

}  // namespace loom
