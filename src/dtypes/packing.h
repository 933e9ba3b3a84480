#pragma once
// Canonical packing (engine D-10): how files, hashes and injected weights hold a matrix. Code i of a row is at bit
// i * bits of the row, read as u32 words stored little-endian; a row is padded to a multiple of 32 codes with the code
// of value 0 (binary: 0 bits). Signed codes are two's complement, ternary is stored as code + 1, binary as 1 for +.
// Block formats (D-26) keep the rows of their GGUF file. Scales and zero points are plain little-endian arrays, one per
// span, row by row: f32 scales, f64 for 32- and 64-bit integers; zero points as wide as the code, at least one byte.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/error.h"
#include "core/stop.h"
#include "dtypes/dtype.h"
#include "dtypes/quantize.h"

namespace loom {

// Unsigned integers have a zero point beside each scale.
constexpr bool has_zero_points(DType t) { return info(t).panel.has_zeros; }
// Floats of 16 bits and more have no scale; block formats carry theirs inside.
constexpr bool has_scales(DType t) {
  return index(t) < kNumTypes && info(t).compute != ComputeClass::F64 &&
         !(info(t).compute == ComputeClass::F32 && info(t).bits > 8);
}
// Types of a scale and of a zero point in a file.
constexpr DType scale_dtype(DType t) {
  return info(t).compute == ComputeClass::Wide && info(t).bits >= 32 ? DType::float64 : DType::float32;
}
constexpr DType zero_dtype(DType t) { return info(t).bits <= 8 ? DType::uint8 : t; }

// Spans that have a scale: 0 for types without. `span` resolved.
Result<std::size_t> span_count(DType dtype, std::size_t rows, std::size_t cols, ScaleSpan span);

// Bytes of the packed codes. SizeOverflow; ShapeMismatch when a row is no whole number of blocks.
Result<std::size_t> packed_bytes(DType dtype, std::size_t rows, std::size_t cols);

struct PackedMatrix {
  std::vector<std::byte> codes, scales, zeros;
};

// InvalidArgument when the sizes do not fit each other, a code is none of the type's, or the type is a block format;
// Cancelled by `stop`.
Result<PackedMatrix> pack(const QuantizedMatrix& matrix, const Stop& stop = {});

// The inverse; unpack(pack(m)) = m and pack(unpack(p)) = p. ShapeMismatch for wrong sizes or a span that D-06 lacks;
// CorruptData for ternary code 3, filling that is not the code of value 0, and zero points outside the code range;
// NonFinite for a scale.
Result<QuantizedMatrix> unpack(DType dtype, std::size_t rows, std::size_t cols, ScaleSpan span,
                               std::span<const std::byte> codes, std::span<const std::byte> scales = {},
                               std::span<const std::byte> zeros = {}, const Stop& stop = {});

}  // namespace loom
