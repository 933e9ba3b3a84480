// Packing of matrices from files into panels.

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <vector>

#include "core/checked.h"
#include "core/little_endian.h"
#include "dtypes/block_formats.h"
#include "dtypes/decode.h"
#include "dtypes/float16.h"
#include "dtypes/matrix.h"
#include "dtypes/panel_row.h"
#include "dtypes/scales.h"

namespace loom {
namespace {

// Returns whether a number of this type, given as its bits, is finite. All types tell by a mask which only infinities
// and NaNs fill.
bool finite(DType t, std::uint64_t bits) { return (bits & info(t).non_finite_mask) != info(t).non_finite_mask; }
bool finite(float v) { return finite(DType::float32, std::bit_cast<std::uint32_t>(v)); }

tl::unexpected<Error> non_finite(DType dtype, std::size_t row, std::size_t col) {
  return fail(Code::NonFinite, "{} weight at row {}, column {} is not a finite number", name(dtype), row, col);
}

// A row-major array as files hold it.
struct Source {
  DType dtype;
  std::span<const std::byte> bytes;
  std::size_t rows, cols, stride;
  std::span<const std::uint32_t> order;  // source row of each row; empty: as they stand
  const std::byte* row(std::size_t r) const { return bytes.data() + (order.empty() ? r : order[r]) * stride; }
};

// f16 d and m of a 32-block, its codes in four or eight 4-byte words that already have the order of a panel.
struct WordBlocks {
  std::size_t factors;  // f16 values in front of the codes
  std::size_t words;
};

Result<void> pack_word_blocks(const WordBlocks& from, const Source& source, std::byte* panels, std::size_t panel_bytes,
                              std::size_t block_bytes, StopCheck& stop) {
  const std::size_t blocks = source.cols / kBlockCols, source_block = 2 * from.factors + 4 * from.words;
  for (std::size_t row = 0; row < source.rows && !stop.before(source.cols); ++row) {
    const std::byte* src = source.row(row);
    std::byte* dst = panels + row / kPanelRows * panel_bytes;
    const std::size_t r = row % kPanelRows;
    for (std::size_t b = 0; b < blocks; ++b, src += source_block, dst += block_bytes) {
      for (std::size_t f = 0; f < from.factors; ++f) {
        std::uint16_t half;
        std::memcpy(&half, src + 2 * f, 2);
        if (!finite(DType::float16, half)) return non_finite(source.dtype, row, b * kBlockCols);
        std::memcpy(dst + 64 * from.words + (f * kPanelRows + r) * 2, &half, 2);
      }
      for (std::size_t j = 0; j < from.words; ++j) std::memcpy(dst + 64 * j + 4 * r, src + 2 * from.factors + 4 * j, 4);
    }
  }
  return {};
}

// A block as unpack_block() leaves it.
struct UnpackedBlock {
  std::int8_t codes[kMaxBlockElements];
  float scales[kMaxSubBlocks];
  float mins[kMaxSubBlocks];
  SuperFactors super;  // of those that have them
};

// The nibbles of codes that count halves; of 0 the one without a sign.
constexpr std::array<std::uint8_t, 25> kFp4Of = [] {
  std::array<std::uint8_t, 25> nibbles{};
  for (std::size_t n = 16; n-- > 0;) nibbles[kTwiceFp4[n]] = static_cast<std::uint8_t>(n);
  return nibbles;
}();

// 32 of its columns, from `first` on, to their place in a panel.
template <std::size_t kBits>
void put_block(const PanelLayout& layout, const RowBlock<std::byte>& to, const UnpackedBlock& from, std::size_t first,
               std::size_t sub_elements) {
  const bool is_fp4 = kBits == 4 && layout.kind == PanelKind::BlockTwiceFp4;
  RowBlock<std::byte>::Codes stored;
  for (std::size_t i = 0; i < kBlockCols; ++i) {
    const auto code = static_cast<std::uint8_t>(from.codes[first + i] + layout.code_offset);
    stored[i] = is_fp4 ? kFp4Of[code] : code;
  }
  to.template put_codes<kBits>(stored);
  const SuperFactors& super = from.super;
  if (layout.has_super_blocks() && to.in_group == 0) to.put_super(layout, super.d, super.dmin);
  if (layout.factors == PanelFactors::Shared) return;
  for (std::size_t s = 0; s < layout.block_subs(); ++s) {
    const std::size_t sub = first / sub_elements + s;
    if (layout.has_super_blocks()) {
      to.put_super_scale(layout, s, super.scales[sub], super.mins[sub]);
      continue;
    }
    to.put_scale(layout, s, from.scales[sub]);
    if (layout.has_min) to.put_min(layout, s, from.mins[sub]);
  }
}

Result<void> pack_blocks(const Source& source, const PanelLayout& layout, std::byte* panels, std::size_t panel_bytes,
                         StopCheck& stop) {
  if (source.dtype == DType::q4_0)
    return pack_word_blocks({1, 4}, source, panels, panel_bytes, layout.block_bytes(), stop);
  if (source.dtype == DType::q4_1)
    return pack_word_blocks({2, 4}, source, panels, panel_bytes, layout.block_bytes(), stop);
  if (source.dtype == DType::q8_0)
    return pack_word_blocks({1, 8}, source, panels, panel_bytes, layout.block_bytes(), stop);
  const BlockLayout& from = block_layout(source.dtype);
  const double largest_code = std::max(-from.code_low, +from.code_high);
  UnpackedBlock unpacked;
  for (std::size_t row = 0; row < source.rows && !stop.before(source.cols); ++row) {
    const std::byte* src = source.row(row);
    const PanelRow<std::byte> to(layout, panels, panel_bytes, row, source.cols);
    std::size_t first = 0;  // of the elements of the block that was unpacked
    for (std::size_t b = 0; b < to.blocks(); ++b) {
      if (first == 0) {
        unpack_block(source.dtype, src, unpacked.codes, unpacked.scales, unpacked.mins);
        if (layout.has_super_blocks()) unpacked.super = super_factors(source.dtype, src);
        src += info(source.dtype).block_bytes;
        for (std::size_t s = 0; s < from.sub_blocks(); ++s)
          if (!gives_finite_weights(static_cast<double>(unpacked.scales[s]), largest_code) ||
              (from.has_min && !finite(unpacked.mins[s])))
            return non_finite(source.dtype, row, b * kBlockCols);
      }
      with_code_bits(layout.kind, [&]<std::size_t kBits>() {
        put_block<kBits>(layout, to.block(b), unpacked, first, from.sub_elements);
      });
      first += kBlockCols;
      if (first == from.elements) first = 0;
    }
  }
  return {};
}

// Elements as they stand; a value that snaps becomes +0. fp8 codes count with the scale that stands beside them, 1 from
// a file.
Result<void> pack_floats(const Source& source, const PanelLayout& layout, std::byte* panels, std::size_t panel_bytes,
                         StopCheck& stop) {
  const std::size_t size = traits(layout.kind).element_bytes;
  std::vector<float> values(source.cols);
  for (std::size_t row = 0; row < source.rows && !stop.before(source.cols); ++row) {
    const std::byte* src = source.row(row);
    const PanelRow<std::byte> to(layout, panels, panel_bytes, row, source.cols);
    if (source.dtype != DType::float64) decode_to_float(source.dtype, src, values.data(), source.cols);
    for (std::size_t c = 0; c < source.cols; ++c, src += size) {
      if (source.dtype == DType::float64) {
        const auto v = load_le<double>(src);
        if (!finite(DType::float64, std::bit_cast<std::uint64_t>(v))) return non_finite(source.dtype, row, c);
        const double kept = snap(v);
        std::memcpy(to.element(c), &kept, 8);
      } else if (!finite(values[c])) {
        return non_finite(source.dtype, row, c);
      } else if (values[c] == 0.0f) {
        std::memset(to.element(c), 0, size);
      } else {
        std::memcpy(to.element(c), src, size);
      }
    }
  }
  return {};
}

}  // namespace

Result<void> encode_row(DType dtype, std::span<const float> row, std::byte* to) {
  if (is_block_format(dtype)) return encode_block_row(dtype, row, to);
  for (std::size_t c = 0; c < row.size(); ++c) {
    if (dtype == DType::float32) {
      std::memcpy(to + 4 * c, &row[c], 4);
    } else if (dtype == DType::float16 || dtype == DType::bfloat16) {
      const std::uint16_t half =
          dtype == DType::float16 ? float_to_float16_saturated(row[c]) : float_to_bfloat16_saturated(row[c]);
      std::memcpy(to + 2 * c, &half, 2);
    } else {
      return fail(Code::Unsupported, "{} rows have no file form", name(dtype));
    }
  }
  return {};
}

Result<Matrix> Matrix::from_source(DType dtype, std::span<const std::byte> bytes, std::size_t rows, std::size_t cols,
                                   std::span<const std::uint32_t> row_order, std::shared_ptr<PanelPool> pool,
                                   const Stop& stop) {
  LOOM_TRY(const std::size_t stride, row_bytes(dtype, cols));
  LOOM_TRY(const std::size_t expected, checked_mul(stride, rows));
  if (bytes.size() != expected)
    return fail(Code::ShapeMismatch, "{} bytes given for a {} matrix of {} x {}, expected {}", bytes.size(),
                name(dtype), rows, cols, expected);
  LOOM_ASSERT(row_order.empty() || row_order.size() == rows);
  if (const PanelTraits& kind = traits(info(dtype).panel.kind);
      !is_block_format(dtype) && (kind.holds_codes() || kind.is_wide()))
    return fail(Code::Unsupported, "{} weights need scales beside their codes", name(dtype));
  LOOM_TRY(Matrix m, create(dtype, panel_layout(dtype), rows, cols, std::move(pool)));
  const Source source{dtype, bytes, rows, cols, stride, row_order};
  StopCheck check(stop);
  if (is_block_format(dtype)) {
    LOOM_TRY_VOID(pack_blocks(source, m.layout_, m.data_, m.panel_bytes_, check));
  } else {
    LOOM_TRY_VOID(pack_floats(source, m.layout_, m.data_, m.panel_bytes_, check));
    for (std::size_t row = 0; row < rows && m.layout_.has_row_scales(); ++row) m.put_row_factors(row, 1.0, 0);
  }
  LOOM_TRY_VOID(check.end());
  return m;
}

Result<Matrix> Matrix::from_bitnet(std::span<const std::byte> bytes, std::size_t rows, std::size_t cols, float scale,
                                   std::shared_ptr<PanelPool> pool, const Stop& stop) {
  LOOM_TRY(const std::size_t elements, checked_mul(rows, cols));
  if (rows % 4 != 0 || bytes.size() != elements / 4)
    return fail(Code::ShapeMismatch,
                "{} bytes of b1.58 codes given for a matrix of {} x {}, expected {} with rows in fours", bytes.size(),
                rows, cols, elements / 4);
  if (!finite(scale)) return fail(Code::NonFinite, "weight_scale is not a finite number");
  const PanelLayout layout = panel_layout(DType::ternary);
  LOOM_TRY(Matrix m, create(DType::ternary, layout, rows, cols, std::move(pool)));
  for (std::size_t row = 0; row < rows; ++row) m.put_row_factors(row, static_cast<double>(scale), 0);
  const std::size_t quarter = rows / 4;
  StopCheck check(stop);
  for (std::size_t row = 0; row < rows && !check.before(cols); ++row) {
    const std::byte* from = bytes.data() + row % quarter * cols;
    const auto shift = static_cast<unsigned>(row / quarter * 2);
    std::byte* to = m.data_ + row / kPanelRows * m.panel_bytes_ + row % kPanelRows * 4;
    // Four bytes of a panel hold the codes of four columns, and of those 8, 16 and 24 further on: whole words are
    // shifted together.
    for (std::size_t c = 0; c < cols; c += kBlockCols, to += layout.block_bytes()) {
      std::uint8_t block[kBlockCols] = {};
      std::memcpy(block, from + c, std::min(kBlockCols, cols - c));
      for (std::size_t j = 0; j < 2; ++j) {
        std::uint32_t packed = 0;
        for (std::size_t k = 0; k < 4; ++k) {
          std::uint32_t word;
          std::memcpy(&word, block + 8 * k + 4 * j, 4);
          word = word >> shift & 0x03030303u;
          packed |= (word ^ (word & word >> 1 & 0x01010101u) << 1) << 2 * k;
        }
        std::memcpy(to + 64 * j, &packed, 4);
      }
    }
  }
  LOOM_TRY_VOID(check.end());
  return m;
}

Result<Matrix> Matrix::from_floats(DType dtype, std::span<const float> values, std::size_t rows, std::size_t cols,
                                   std::shared_ptr<PanelPool> pool) {
  if (values.size() != rows * cols)
    return fail(Code::ShapeMismatch, "{} values given for a matrix of {} x {}", values.size(), rows, cols);
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!finite(values[i])) return non_finite(dtype, i / cols, i % cols);
  if (dtype == DType::float32) return from_source(dtype, std::as_bytes(values), rows, cols, {}, std::move(pool));
  if (!is_block_format(dtype)) {
    LOOM_TRY(const QuantizedMatrix q, quantize(dtype, values, rows, cols));
    return from_quantized(q, std::move(pool));
  }
  LOOM_TRY(const std::size_t stride, row_bytes(dtype, cols));
  std::vector<std::byte> encoded(stride * rows);
  for (std::size_t row = 0; row < rows; ++row) {
    LOOM_TRY_VOID(encode_row(dtype, values.subspan(row * cols, cols), encoded.data() + row * stride));
  }
  return from_source(dtype, encoded, rows, cols, {}, std::move(pool));
}

}  // namespace loom
