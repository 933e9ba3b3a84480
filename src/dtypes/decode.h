#pragma once
// Numbers as files store them, little-endian and at any address, to f32.

#include <cstddef>

#include "dtypes/dtype.h"

namespace loom {

// True for types with whole bytes or blocks; the types that Loom packs below a byte have their own layout (engine
// D-10).
constexpr bool has_plain_layout(DType dtype) { return info(dtype).block_bytes != 0; }

// `n` elements (a multiple of the block of a block format), each rounded to the nearest f32 and snapped (numerics 1.2).
// Codes of 8-bit floats and integers count as they are, without scale. An f64 beyond f32 becomes an infinity.
void decode_to_float(DType dtype, const std::byte* from, float* to, std::size_t n);

}  // namespace loom
