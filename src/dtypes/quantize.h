#pragma once
// A matrix in one of the 21 types: codes, scales and zero points (engine 4.1, D-01..D-07), as exact scalar code.
// value = (code - zero point) * scale for integers, float(code) * scale for the small floats, +-scale for binary; the
// product is rounded once and snapped (numerics 1.2). Types of 16-bit floats and wider have no scale.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/error.h"
#include "core/stop.h"
#include "dtypes/dtype.h"

namespace loom {

enum class Granularity : std::uint8_t { Auto, Tensor, Row, Group };

// D-06. Auto takes the table's span; the group size counts for groups only: 32, 64 or 128 elements along a row, the
// last may be short.
struct ScaleSpan {
  Granularity granularity = Granularity::Auto;
  std::size_t group_size = 32;
};

// Auto resolved for a type: the table of engine 4.1.
ScaleSpan resolved(DType dtype, ScaleSpan span);

// Codes one after the other, row-major, each little-endian in 1, 2, 4 or 8 bytes: floats as their bits, integers in
// two's complement or unsigned, ternary -1 0 1, binary -1 1.
struct QuantizedMatrix {
  DType dtype = DType::float32;
  std::size_t rows = 0, cols = 0;
  ScaleSpan span;  // resolved
  std::vector<std::byte> codes;
  std::vector<double> scales;             // per span, row by row; representable in f32 but for 32- and 64-bit integers
  std::vector<std::int64_t> zero_points;  // per span; empty for symmetric types

  std::size_t code_bytes() const { return info(dtype).bits <= 8 ? 1 : info(dtype).bits / 8u; }
  // Numbers of integer, ternary and binary types; the bits of a float.
  std::int64_t code(std::size_t index) const;
  std::size_t spans_per_row() const;  // 1 for rows; 0 when one span covers the tensor
  std::size_t span_of(std::size_t row, std::size_t col) const;
};

// Estimates scales and encodes. InvalidArgument for block formats (block_formats.h), a group size that D-06 lacks or
// sizes that do not fit; NonFinite with the index; Cancelled by `stop`.
Result<QuantizedMatrix> quantize(DType dtype, std::span<const float> w, std::size_t rows, std::size_t cols,
                                 ScaleSpan span = {}, const Stop& stop = {});

// Encodes with the scales and zero points of `like`, which has the sizes of w (frozen scales, D-37; D-03).
Result<QuantizedMatrix> quantize_like(const QuantizedMatrix& like, std::span<const float> w);

// The steps of quantize(), into memory that is reused, for finite values and a matrix with its type, sizes and span.
// estimate_scales() estimates the scales and zero points of all spans; encode() then writes the codes.
void estimate_scales(QuantizedMatrix& to, std::span<const float> w);
void encode(QuantizedMatrix& to, std::span<const float> w);

// rows x cols values.
std::vector<float> dequantize(const QuantizedMatrix& matrix);

}  // namespace loom
