#include "dtypes/packing.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/checked.h"
#include "core/little_endian.h"

namespace loom {
namespace {

constexpr std::size_t kFill = 32;  // codes of a row are filled up to a multiple of this

Result<void> check_span(DType dtype, ScaleSpan span) {
  if (!has_scales(dtype) || span.granularity == Granularity::Tensor || span.granularity == Granularity::Row) return {};
  if (span.granularity == Granularity::Auto)
    return fail(Code::InvalidArgument, "the granularity of {} scales is not resolved", name(dtype));
  if (span.group_size != 32 && span.group_size != 64 && span.group_size != 128)
    return fail(Code::ShapeMismatch, "group size {}, expected 32, 64 or 128", span.group_size);
  return {};
}

std::uint64_t mask_of(DType t) {
  return info(t).bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << info(t).bits) - 1;
}

// The code that fills a row up.
std::uint64_t filling(DType t, std::int64_t zero_point) {
  return t == DType::ternary ? 1 : t == DType::binary ? 0 : static_cast<std::uint64_t>(zero_point);
}

// From QuantizedMatrix::code() to what is stored; false for no code of the type.
bool stored(DType t, std::int64_t code, std::uint64_t& out) {
  if (t == DType::ternary) {
    out = static_cast<std::uint64_t>(code + 1);
    return code >= -1 && code <= 1;
  }
  if (t == DType::binary) {
    out = code > 0 ? 1 : 0;
    return code == 1 || code == -1;
  }
  out = static_cast<std::uint64_t>(code) & mask_of(t);
  const int bits = info(t).bits;
  if (bits >= 8) return true;  // as wide as its place in QuantizedMatrix
  if (has_zero_points(t) || t == DType::fp4) return code >= 0 && code < std::int64_t{1} << bits;
  return code >= -(std::int64_t{1} << (bits - 1)) && code < std::int64_t{1} << (bits - 1);
}

std::int64_t restored(DType t, std::uint64_t bits) {
  if (t == DType::ternary) return static_cast<std::int64_t>(bits) - 1;
  if (t == DType::binary) return bits != 0 ? 1 : -1;
  if (t != DType::int4 && t != DType::int2) return static_cast<std::int64_t>(bits);
  const std::uint64_t sign = std::uint64_t{1} << (info(t).bits - 1);
  return static_cast<std::int64_t>(bits ^ sign) - static_cast<std::int64_t>(sign);
}

// Types of a byte and more: each code of a row has bytes of its own.
void put_wide(std::byte* at, std::size_t bytes, std::uint64_t code) {
  for (std::size_t k = 0; k < bytes; ++k) at[k] = static_cast<std::byte>(code >> (8 * k) & 255);
}
std::uint64_t get_wide(const std::byte* at, std::size_t bytes) {
  std::uint64_t code = 0;
  for (std::size_t k = 0; k < bytes; ++k) code |= std::to_integer<std::uint64_t>(at[k]) << (8 * k);
  return code;
}

// Below a byte: 8 is a multiple of the bits, so no code crosses a byte.
void put_narrow(std::byte* row, std::size_t bits, std::size_t i, std::uint64_t code) {
  row[i * bits / 8] |= static_cast<std::byte>(code << (i * bits % 8) & 255);
}
std::uint64_t get_narrow(const std::byte* row, std::size_t bits, std::size_t i) {
  return std::to_integer<std::uint64_t>(row[i * bits / 8]) >> (i * bits % 8) & ((1u << bits) - 1);
}

// Zero point of the last span of a row, which the padding of the row belongs to.
std::int64_t last_zero_point(const QuantizedMatrix& m, std::size_t row) {
  return m.zero_points.empty() ? 0 : m.zero_points[m.span_of(row, m.cols - 1)];
}

Result<void> pack_row(const QuantizedMatrix& m, std::size_t row, std::byte* to) {
  const std::size_t bits = info(m.dtype).bits, filled = round_up(m.cols, kFill);
  const std::uint64_t filler = filling(m.dtype, last_zero_point(m, row));
  if (bits >= 8) {
    std::memcpy(to, m.codes.data() + row * m.cols * (bits / 8), m.cols * (bits / 8));
    for (std::size_t i = m.cols; i < filled; ++i) put_wide(to + i * (bits / 8), bits / 8, filler);
    return {};
  }
  for (std::size_t i = 0; i < m.cols; ++i) {
    std::uint64_t code = 0;
    if (const std::int64_t c = m.code(row * m.cols + i); !stored(m.dtype, c, code))
      return fail(Code::InvalidArgument, "element {} of row {}: {} is no code of {}", i, row, c, name(m.dtype));
    put_narrow(to, bits, i, code);
  }
  for (std::size_t i = m.cols; i < filled; ++i) put_narrow(to, bits, i, filler);
  return {};
}

Result<void> unpack_row(QuantizedMatrix& m, std::size_t row, const std::byte* from) {
  const std::size_t bits = info(m.dtype).bits, filled = round_up(m.cols, kFill);
  const auto get = [&](std::size_t i) {
    return bits >= 8 ? get_wide(from + i * (bits / 8), bits / 8) : get_narrow(from, bits, i);
  };
  const std::uint64_t filler = filling(m.dtype, last_zero_point(m, row));
  for (std::size_t i = m.cols; i < filled; ++i)
    if (get(i) != filler)
      return fail(Code::CorruptData, "row {} is filled up with code {}, expected {}", row, get(i), filler);
  if (bits >= 8) {
    std::memcpy(m.codes.data() + row * m.cols * (bits / 8), from, m.cols * (bits / 8));
    return {};
  }
  for (std::size_t i = 0; i < m.cols; ++i) {
    const std::uint64_t code = get(i);
    if (m.dtype == DType::ternary && code == 3)
      return fail(Code::CorruptData, "element {} of row {}: 3 is no ternary code", i, row);
    m.codes[row * m.cols + i] = static_cast<std::byte>(restored(m.dtype, code) & 255);
  }
  return {};
}

Result<void> unpack_spans(QuantizedMatrix& m, std::size_t spans, std::span<const std::byte> scales,
                          std::span<const std::byte> zeros) {
  const std::size_t scale_bytes = info(scale_dtype(m.dtype)).block_bytes,
                    zero_bytes = info(zero_dtype(m.dtype)).block_bytes;
  m.scales.resize(spans);
  for (std::size_t k = 0; k < spans; ++k) {
    const std::byte* at = scales.data() + k * scale_bytes;
    m.scales[k] = scale_bytes == 8 ? load_le<double>(at) : static_cast<double>(load_le<float>(at));
    if ((std::bit_cast<std::uint64_t>(m.scales[k]) >> 52 & 0x7ff) == 0x7ff)
      return fail(Code::NonFinite, "scale {} is not finite", k);
  }
  if (!has_zero_points(m.dtype)) return {};
  const std::uint64_t largest = std::min(mask_of(m.dtype), (std::uint64_t{1} << 53) - 1);
  m.zero_points.resize(spans);
  for (std::size_t k = 0; k < spans; ++k) {
    const std::uint64_t zero = get_wide(zeros.data() + k * zero_bytes, zero_bytes);
    if (zero > largest) return fail(Code::CorruptData, "zero point {} is {}, at most {}", k, zero, largest);
    m.zero_points[k] = static_cast<std::int64_t>(zero);
  }
  return {};
}

}  // namespace

Result<std::size_t> span_count(DType dtype, std::size_t rows, std::size_t cols, ScaleSpan span) {
  LOOM_TRY_VOID(check_span(dtype, span));
  if (!has_scales(dtype)) return 0;
  if (span.granularity == Granularity::Tensor) return 1;
  return span.granularity == Granularity::Row ? rows : checked_mul(rows, ceil_div(cols, span.group_size));
}

Result<std::size_t> packed_bytes(DType dtype, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return fail(Code::ShapeMismatch, "a matrix of {} x {}", rows, cols);
  if (is_block_format(dtype)) {
    LOOM_TRY(const std::size_t row, row_bytes(dtype, cols));
    return checked_mul(rows, row);
  }
  LOOM_TRY(const std::size_t padded, checked_add(cols, kFill - 1));
  return checked_product({rows, padded / kFill, kFill / 8, info(dtype).bits});
}

Result<PackedMatrix> pack(const QuantizedMatrix& m, const Stop& stop) {
  if (index(m.dtype) >= kNumTypes)
    return fail(Code::InvalidArgument, "{} is a block format and packed already", name(m.dtype));
  LOOM_TRY(const std::size_t bytes, packed_bytes(m.dtype, m.rows, m.cols));
  LOOM_TRY(const std::size_t spans, span_count(m.dtype, m.rows, m.cols, m.span));
  if (m.codes.size() != m.rows * m.cols * m.code_bytes() || m.scales.size() != spans ||
      m.zero_points.size() != (has_zero_points(m.dtype) ? spans : 0))
    return fail(Code::InvalidArgument, "{} code bytes, {} scales and {} zero points do not make a {} matrix of {} x {}",
                m.codes.size(), m.scales.size(), m.zero_points.size(), name(m.dtype), m.rows, m.cols);
  PackedMatrix out;
  const std::size_t scale_bytes = info(scale_dtype(m.dtype)).block_bytes,
                    zero_bytes = info(zero_dtype(m.dtype)).block_bytes;
  out.scales.resize(spans * scale_bytes);
  for (std::size_t k = 0; k < spans; ++k) {
    if (scale_bytes == 8)
      store_le(out.scales.data() + k * 8, m.scales[k]);
    else
      store_le(out.scales.data() + k * 4, static_cast<float>(m.scales[k]));
  }
  out.zeros.resize(m.zero_points.size() * zero_bytes);
  for (std::size_t k = 0; k < m.zero_points.size(); ++k) {
    const auto zero = static_cast<std::uint64_t>(m.zero_points[k]);
    if (zero > mask_of(m.dtype))
      return fail(Code::InvalidArgument, "zero point {} is {}, no code of {}", k, m.zero_points[k], name(m.dtype));
    put_wide(out.zeros.data() + k * zero_bytes, zero_bytes, zero);
  }
  out.codes.resize(bytes);
  StopCheck check(stop);
  for (std::size_t row = 0; row < m.rows && !check.before(m.cols); ++row)
    LOOM_TRY_VOID(pack_row(m, row, out.codes.data() + bytes / m.rows * row));
  LOOM_TRY_VOID(check.end());
  return out;
}

Result<QuantizedMatrix> unpack(DType dtype, std::size_t rows, std::size_t cols, ScaleSpan span,
                               std::span<const std::byte> codes, std::span<const std::byte> scales,
                               std::span<const std::byte> zeros, const Stop& stop) {
  if (index(dtype) >= kNumTypes)
    return fail(Code::InvalidArgument, "{} is a block format and has no codes", name(dtype));
  LOOM_TRY(const std::size_t bytes, packed_bytes(dtype, rows, cols));
  span = resolved(dtype, span);
  LOOM_TRY(const std::size_t spans, span_count(dtype, rows, cols, span));
  LOOM_TRY(const std::size_t scales_expected, checked_mul(spans, info(scale_dtype(dtype)).block_bytes));
  LOOM_TRY(const std::size_t zeros_expected,
           checked_mul(has_zero_points(dtype) ? spans : 0, info(zero_dtype(dtype)).block_bytes));
  if (codes.size() != bytes || scales.size() != scales_expected || zeros.size() != zeros_expected)
    return fail(Code::ShapeMismatch,
                "{} bytes of codes, {} of scales and {} of zero points, a {} matrix of {} x {} has {}, {} and {}",
                codes.size(), scales.size(), zeros.size(), name(dtype), rows, cols, bytes, scales_expected,
                zeros_expected);
  QuantizedMatrix m;
  m.dtype = dtype, m.rows = rows, m.cols = cols, m.span = span;
  LOOM_TRY_VOID(unpack_spans(m, spans, scales, zeros));
  m.codes.resize(rows * cols * m.code_bytes());
  StopCheck check(stop);
  for (std::size_t row = 0; row < rows && !check.before(cols); ++row)
    LOOM_TRY_VOID(unpack_row(m, row, codes.data() + bytes / rows * row));
  LOOM_TRY_VOID(check.end());
  return m;
}

}  // namespace loom
