#include "dtypes/matrix.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "core/checked.h"
#include "core/little_endian.h"
#include "core/transpose.h"
#include "dtypes/block_formats.h"
#include "dtypes/decode.h"
#include "dtypes/float16.h"
#include "dtypes/small_float.h"

namespace loom {
namespace {

// Bytes of one element of a float or wide panel.
constexpr std::size_t element_bytes(PanelKind kind) {
  switch (kind) {
    case PanelKind::Float64:
    case PanelKind::Wide64: return 8;
    case PanelKind::Float32:
    case PanelKind::Wide32: return 4;
    case PanelKind::Float16:
    case PanelKind::BFloat16:
    case PanelKind::Wide16: return 2;
    default: return 1;
  }
}

bool is_wide(PanelKind kind) { return kind == PanelKind::Wide16 || kind == PanelKind::Wide32 || kind == PanelKind::Wide64; }
bool is_code_panel(PanelKind kind) { return kind >= PanelKind::BlockNibbles || kind == PanelKind::BlockFp4; }
bool is_row_panel(PanelKind kind) { return kind >= PanelKind::RowBytes; }
bool has_bits(PanelKind kind) { return kind == PanelKind::BlockBits || kind == PanelKind::RowBits; }

constexpr std::size_t code_bits(PanelKind kind) {
  switch (kind) {
    case PanelKind::BlockFp4:
    case PanelKind::BlockNibbles:
    case PanelKind::RowNibbles: return 4;
    case PanelKind::BlockCrumbs:
    case PanelKind::RowCrumbs: return 2;
    case PanelKind::BlockBits:
    case PanelKind::RowBits: return 1;
    default: return 8;
  }
}
constexpr std::size_t code_bytes(PanelKind kind) { return 64 * code_bits(kind); }

// Where code i of row r stands in its block.
struct CodePlace {
  std::size_t byte, shift;
};
constexpr CodePlace place_of(std::size_t bits, std::size_t r, std::size_t i) {
  const std::size_t word = i / 4;
  return {64 * (word % bits) + 4 * r + i % 4, bits == 8 ? 0 : word / bits * bits};
}

// `code` as it is stored: not negative unless it has a byte of its own. The place must hold zeros.
void put_code(PanelKind kind, std::byte* block, std::size_t r, std::size_t i, int code) {
  const CodePlace at = place_of(code_bits(kind), r, i);
  block[at.byte] |= static_cast<std::byte>(static_cast<std::uint8_t>(code) << at.shift);
}

// f<bits of a code>(): places are divisions by that, which only constants make cheap.
template <class F>
auto with_bits(PanelKind kind, F&& f) {
  switch (code_bits(kind)) {
    case 1: return f.template operator()<1>();
    case 2: return f.template operator()<2>();
    case 4: return f.template operator()<4>();
    default: return f.template operator()<8>();
  }
}

template <std::size_t kBits>
int stored_code(const std::byte* block, std::size_t r, std::size_t i) {
  const CodePlace at = place_of(kBits, r, i);
  const auto byte = static_cast<std::uint8_t>(block[at.byte]);
  return kBits == 8 ? static_cast<std::int8_t>(byte) : byte >> at.shift & ((1 << kBits) - 1);
}

// One block of 32 columns of one row, before it is spread over a panel.
struct BlockRow {
  std::int8_t codes[256];
  float scales[16];
  float mins[16];
};

// Where block `block` of a panel keeps its codes, and its factors: behind those of the last block that shares them.
struct BlockPlace {
  std::size_t codes, factors;
};
BlockPlace block_place(const PanelLayout& layout, std::size_t block, std::size_t blocks) {
  const std::size_t shared = layout.group_blocks(), group = block / shared, end = std::min((group + 1) * shared, blocks);
  return {block * code_bytes(layout.kind) + group * layout.factor_bytes(), end * code_bytes(layout.kind) + group * layout.factor_bytes()};
}
// Zero points behind the factors.
std::byte zero_byte(const PanelLayout& layout, const std::byte* factors, std::size_t r) { return factors[layout.factor_bytes() - kPanelRows + r]; }

// Writes 32 codes, scales and minima of row r into one block of a panel.
void put_block(const PanelLayout& layout, std::byte* block, std::size_t r, const std::int8_t* codes, const float* scales, const float* mins) {
  for (std::size_t i = 0; i < kBlockCols; ++i) put_code(layout.kind, block, r, i, codes[i] + layout.code_offset);
  std::byte* factors = block + code_bytes(layout.kind);
  const std::size_t subs = kBlockCols / layout.sub_cols;
  const auto put = [&](std::size_t slot, float value) {
    if (layout.half_scales) {
      const std::uint16_t half = float_to_float16_saturated(value);
      std::memcpy(factors + (slot * kPanelRows + r) * 2, &half, 2);
    } else {
      std::memcpy(factors + (slot * kPanelRows + r) * 4, &value, 4);
    }
  };
  for (std::size_t s = 0; s < subs; ++s) {
    put(s * (layout.has_min ? 2 : 1), scales[s]);
    if (layout.has_min) put(s * 2 + 1, mins[s]);
  }
}

double wide_code(const PanelLayout& layout, const std::byte* at) {
  switch (layout.kind) {
    case PanelKind::Wide16: return layout.is_signed ? load_le<std::int16_t>(at) : load_le<std::uint16_t>(at);
    case PanelKind::Wide32:
      return layout.is_signed ? static_cast<double>(load_le<std::int32_t>(at)) : static_cast<double>(load_le<std::uint32_t>(at));
    default: return layout.is_signed ? static_cast<double>(load_le<std::int64_t>(at)) : static_cast<double>(load_le<std::uint64_t>(at));
  }
}

float panel_factor(const PanelLayout& layout, const std::byte* factors, std::size_t slot, std::size_t r) {
  if (layout.half_scales) {
    std::uint16_t half;
    std::memcpy(&half, factors + (slot * kPanelRows + r) * 2, 2);
    return float16_to_float(half);
  }
  float value;
  std::memcpy(&value, factors + (slot * kPanelRows + r) * 4, 4);
  return value;
}

bool finite(float v) { return (std::bit_cast<std::uint32_t>(v) & 0x7f800000u) != 0x7f800000u; }

tl::unexpected<Error> non_finite(DType dtype, std::size_t row, std::size_t col) {
  return fail(Code::NonFinite, "{} weight at row {}, column {} is not a finite number", name(dtype), row, col);
}

// A row-major array as files hold it.
struct Source {
  DType dtype;
  std::span<const std::byte> bytes;
  std::size_t rows, cols, stride;
  std::span<const std::uint32_t> order;   // source row of each row; empty: as they stand
  const std::byte* row(std::size_t r) const { return bytes.data() + (order.empty() ? r : order[r]) * stride; }
};

// f16 d and m of a 32-block, its codes in four or eight 4-byte words that already lie as a panel wants them.
struct WordBlocks {
  std::size_t factors;  // f16 values in front of the codes
  std::size_t words;
};

Result<void> pack_word_blocks(const WordBlocks& from, const Source& source, std::byte* panels, std::size_t panel_bytes, std::size_t block_bytes,
                              StopCheck& stop) {
  const std::size_t blocks = source.cols / kBlockCols, source_block = 2 * from.factors + 4 * from.words;
  for (std::size_t row = 0; row < source.rows && !stop.before(source.cols); ++row) {
    const std::byte* src = source.row(row);
    std::byte* dst = panels + row / kPanelRows * panel_bytes;
    const std::size_t r = row % kPanelRows;
    for (std::size_t b = 0; b < blocks; ++b, src += source_block, dst += block_bytes) {
      for (std::size_t f = 0; f < from.factors; ++f) {
        std::uint16_t half;
        std::memcpy(&half, src + 2 * f, 2);
        if ((half & 0x7c00u) == 0x7c00u) return non_finite(source.dtype, row, b * kBlockCols);
        std::memcpy(dst + 64 * from.words + (f * kPanelRows + r) * 2, &half, 2);
      }
      for (std::size_t j = 0; j < from.words; ++j) std::memcpy(dst + 64 * j + 4 * r, src + 2 * from.factors + 4 * j, 4);
    }
  }
  return {};
}

Result<void> pack_blocks(const Source& source, const PanelLayout& layout, std::byte* panels, std::size_t panel_bytes, StopCheck& stop) {
  if (source.dtype == DType::q4_0) return pack_word_blocks({1, 4}, source, panels, panel_bytes, layout.block_bytes(), stop);
  if (source.dtype == DType::q4_1) return pack_word_blocks({2, 4}, source, panels, panel_bytes, layout.block_bytes(), stop);
  if (source.dtype == DType::q8_0) return pack_word_blocks({1, 8}, source, panels, panel_bytes, layout.block_bytes(), stop);
  const BlockLayout& from = block_layout(source.dtype);
  const std::size_t blocks = source.cols / from.elements, parts = from.elements / kBlockCols;
  BlockRow unpacked;
  for (std::size_t row = 0; row < source.rows && !stop.before(source.cols); ++row)
    for (std::size_t b = 0; b < blocks; ++b) {
      unpack_block(source.dtype, source.row(row) + b * info(source.dtype).block_bytes, unpacked.codes, unpacked.scales, unpacked.mins);
      for (std::size_t s = 0; s < from.sub_blocks(); ++s)
        if (!finite(unpacked.scales[s]) || (from.has_min && !finite(unpacked.mins[s]))) return non_finite(source.dtype, row, b * from.elements);
      for (std::size_t part = 0; part < parts; ++part) {
        std::byte* block = panels + row / kPanelRows * panel_bytes + (b * parts + part) * layout.block_bytes();
        const std::size_t sub = part * kBlockCols / from.sub_elements;
        put_block(layout, block, row % kPanelRows, unpacked.codes + part * kBlockCols, unpacked.scales + sub, unpacked.mins + sub);
      }
    }
  return {};
}

// Elements as they stand; a value that snaps becomes +0. fp8 codes count with the scale that stands beside them, 1 from a file.
Result<void> pack_floats(const Source& source, PanelKind kind, std::byte* panels, std::size_t panel_bytes, StopCheck& stop) {
  const std::size_t size = element_bytes(kind);
  std::vector<float> values(source.cols);
  for (std::size_t row = 0; row < source.rows && !stop.before(source.cols); ++row) {
    const std::byte* src = source.row(row);
    std::byte* dst = panels + row / kPanelRows * panel_bytes + row % kPanelRows * size;
    if (kind != PanelKind::Float64) decode_to_float(source.dtype, src, values.data(), source.cols);
    for (std::size_t c = 0; c < source.cols; ++c, src += size, dst += kPanelRows * size) {
      if (kind == PanelKind::Float64) {
        const auto v = load_le<double>(src);
        if (!(std::abs(v) <= std::numeric_limits<double>::max())) return non_finite(source.dtype, row, c);
        const double kept = std::abs(v) < 0x1p-485 ? 0.0 : v;
        std::memcpy(dst, &kept, 8);
      } else if (!finite(values[c])) {
        return non_finite(source.dtype, row, c);
      } else if (values[c] == 0.0f) {
        std::memset(dst, 0, size);
      } else {
        std::memcpy(dst, src, size);
      }
    }
  }
  return {};
}

}  // namespace

std::size_t PanelLayout::factor_bytes() const {
  if (is_row_panel(kind)) return 0;
  const std::size_t subs = sub_cols < kBlockCols ? kBlockCols / sub_cols : 1;
  return subs * kPanelRows * (half_scales ? 2 : 4) * (has_min ? 2 : 1) + (has_zeros ? kPanelRows : 0);
}

std::size_t PanelLayout::block_bytes() const { return code_bytes(kind) + factor_bytes(); }

std::size_t PanelLayout::panel_bytes(std::size_t cols) const {
  const std::size_t blocks = ceil_div(cols, kBlockCols);
  if (is_code_panel(kind)) return blocks * code_bytes(kind) + ceil_div(blocks, group_blocks()) * factor_bytes();
  return cols * kPanelRows * element_bytes(kind);
}

bool PanelLayout::has_row_scales() const { return is_row_panel(kind) || is_wide(kind) || kind == PanelKind::Fp8E4M3 || kind == PanelKind::Fp8E5M2; }

namespace {

// With the span that the type has by itself.
PanelLayout plain_layout(DType dtype) {
  using K = PanelKind;
  switch (dtype) {
    case DType::float64: return {.kind = K::Float64};
    case DType::float32: return {.kind = K::Float32};
    case DType::float16: return {.kind = K::Float16};
    case DType::bfloat16: return {.kind = K::BFloat16};
    case DType::fp8e4m3: return {.kind = K::Fp8E4M3};
    case DType::fp8e5m2: return {.kind = K::Fp8E5M2};
    case DType::fp4: return {.kind = K::BlockFp4};
    case DType::int64: return {.kind = K::Wide64, .is_signed = true};
    case DType::int32: return {.kind = K::Wide32, .is_signed = true};
    case DType::int16: return {.kind = K::Wide16, .is_signed = true};
    case DType::uint64: return {.kind = K::Wide64, .has_zeros = true};
    case DType::uint32: return {.kind = K::Wide32, .has_zeros = true};
    case DType::uint16: return {.kind = K::Wide16, .has_zeros = true};
    case DType::int8: return {.kind = K::RowBytes};
    case DType::uint8: return {.kind = K::RowBytes, .has_zeros = true};
    case DType::int4: return {.kind = K::BlockNibbles, .code_offset = 8};
    case DType::uint4: return {.kind = K::BlockNibbles, .has_zeros = true};
    case DType::int2: return {.kind = K::BlockCrumbs, .code_offset = 2};
    case DType::uint2: return {.kind = K::BlockCrumbs, .has_zeros = true};
    case DType::ternary: return {.kind = K::RowCrumbs, .code_offset = 1};
    case DType::binary: return {.kind = K::RowBits, .code_offset = 1};
    case DType::q4_0: return {.kind = K::BlockNibbles, .half_scales = true, .code_offset = 8};
    case DType::q4_1: return {.kind = K::BlockNibbles, .half_scales = true, .has_min = true};
    case DType::q5_0:
    case DType::q8_0: return {.kind = K::BlockBytes, .half_scales = true};
    case DType::q5_1: return {.kind = K::BlockBytes, .half_scales = true, .has_min = true};
    case DType::q2_k: return {.kind = K::BlockBytes, .sub_cols = 16, .has_min = true};
    case DType::q3_k:
    case DType::q6_k: return {.kind = K::BlockBytes, .sub_cols = 16};
    case DType::q4_k: return {.kind = K::BlockNibbles, .has_min = true};
    case DType::q5_k: return {.kind = K::BlockBytes, .has_min = true};
    case DType::tq1_0:
    case DType::tq2_0: return {.kind = K::BlockCrumbs, .half_scales = true, .code_offset = 1};
    case DType::mxfp4: return {.kind = K::BlockBytes};
  }
  return {};
}

}  // namespace

PanelLayout panel_layout(DType dtype, ScaleSpan span) {
  using K = PanelKind;
  PanelLayout layout = plain_layout(dtype);
  if (is_block_format(dtype)) return layout;
  span = resolved(dtype, span);
  const bool grouped = span.granularity == Granularity::Group;
  if (is_code_panel(layout.kind) && grouped) layout.sub_cols = static_cast<std::uint8_t>(span.group_size);
  switch (layout.kind) {
    case K::RowBytes:
      if (grouped) layout.kind = K::BlockBytes, layout.code_offset = layout.has_zeros ? -128 : 0;
      break;
    case K::RowCrumbs:
      if (grouped) layout.kind = K::BlockCrumbs;
      break;
    case K::RowBits:
      if (grouped) layout.kind = K::BlockBits;
      break;
    case K::BlockNibbles:
      if (!grouped) layout.kind = K::RowNibbles;
      break;
    case K::BlockCrumbs:
      if (!grouped) layout.kind = K::RowCrumbs;
      break;
    default: break;
  }
  return layout;
}

Result<void> encode_row(DType dtype, std::span<const float> row, std::byte* to) {
  if (is_block_format(dtype)) return encode_block_row(dtype, row, to);
  for (std::size_t c = 0; c < row.size(); ++c) {
    if (dtype == DType::float32) {
      std::memcpy(to + 4 * c, &row[c], 4);
    } else if (dtype == DType::float16 || dtype == DType::bfloat16) {
      const std::uint16_t half = dtype == DType::float16 ? float_to_float16_saturated(row[c]) : float_to_bfloat16_saturated(row[c]);
      std::memcpy(to + 2 * c, &half, 2);
    } else {
      return fail(Code::Unsupported, "{} rows have no file form", name(dtype));
    }
  }
  return {};
}

Result<std::shared_ptr<PanelPool>> PanelPool::create(std::size_t bytes) {
  auto pool = std::make_shared<PanelPool>();
  LOOM_TRY(pool->memory_, Buffer::create(bytes));
  return pool;
}

std::byte* PanelPool::take(std::size_t bytes) {
  const std::size_t padded = round_up(bytes, Buffer::kAlignment);
  const std::size_t begin = used_.fetch_add(padded);
  return begin + padded <= memory_.size() ? memory_.data() + begin : nullptr;
}

Result<Matrix> Matrix::create(DType dtype, const PanelLayout& layout, std::size_t rows, std::size_t cols, std::shared_ptr<PanelPool> pool) {
  Matrix m;
  m.dtype_ = dtype;
  m.layout_ = layout;
  if (rows == 0 || cols == 0) return fail(Code::ShapeMismatch, "a matrix of {} x {} has no elements", rows, cols);
  LOOM_TRY_VOID(checked_product({rows, cols, 64}));
  m.rows_ = rows, m.cols_ = cols;
  m.panel_bytes_ = m.layout_.panel_bytes(cols);
  LOOM_TRY(const std::size_t bytes, checked_mul(m.panels(), m.panel_bytes_));
  if (pool) m.data_ = pool->take(bytes);
  if (m.data_ != nullptr) {
    m.pool_ = std::move(pool);
  } else {
    LOOM_TRY(m.own_, Buffer::create(bytes));
    m.data_ = m.own_.data();
  }
  // One i32 holds the sum of a whole row: 127 * 255 * 2^16 is its limit.
  if (is_row_panel(m.layout_.kind) && cols > (std::size_t{1} << 16))
    return fail(Code::Unsupported, "{} rows of {} columns: at most {} are summed exactly", name(dtype), cols, std::size_t{1} << 16);
  const std::size_t padded = m.panels() * kPanelRows;
  const std::size_t factor_bytes = is_wide(m.layout_.kind) ? 8 : 4;
  if (m.layout_.has_row_scales()) {
    LOOM_TRY(m.row_scales_, Buffer::create(padded * factor_bytes));
    if (m.layout_.has_zeros) {
      LOOM_TRY(m.row_zeros_, Buffer::create(padded * factor_bytes));
    }
  }
  return m;
}

Result<Matrix> Matrix::from_source(DType dtype, std::span<const std::byte> bytes, std::size_t rows, std::size_t cols,
                                   std::span<const std::uint32_t> row_order, std::shared_ptr<PanelPool> pool, const Stop& stop) {
  LOOM_TRY(const std::size_t stride, row_bytes(dtype, cols));
  LOOM_TRY(const std::size_t expected, checked_mul(stride, rows));
  if (bytes.size() != expected)
    return fail(Code::ShapeMismatch, "{} bytes given for a {} matrix of {} x {}, expected {}", bytes.size(), name(dtype), rows, cols, expected);
  LOOM_ASSERT(row_order.empty() || row_order.size() == rows);
  LOOM_TRY(Matrix m, create(dtype, panel_layout(dtype), rows, cols, std::move(pool)));
  const Source source{dtype, bytes, rows, cols, stride, row_order};
  StopCheck check(stop);
  if (is_block_format(dtype)) {
    LOOM_TRY_VOID(pack_blocks(source, m.layout_, m.data_, m.panel_bytes_, check));
  } else if (!is_code_panel(m.layout_.kind)) {
    if (is_wide(m.layout_.kind)) return fail(Code::Unsupported, "{} weights need scales beside their codes", name(dtype));
    LOOM_TRY_VOID(pack_floats(source, m.layout_.kind, m.data_, m.panel_bytes_, check));
    for (std::size_t row = 0; row < rows && m.layout_.has_row_scales(); ++row) m.row_scales_.as<float>()[row] = 1.0f;
  } else {
    return fail(Code::Unsupported, "{} weights need scales beside their codes", name(dtype));
  }
  LOOM_TRY_VOID(check.end());
  return m;
}

Result<Matrix> Matrix::from_quantized(const QuantizedMatrix& q, std::shared_ptr<PanelPool> pool, const Stop& stop) {
  const PanelLayout layout = panel_layout(q.dtype, q.span);
  const bool code_panel = is_code_panel(layout.kind), row_panel = is_row_panel(layout.kind), grouped = q.span.granularity == Granularity::Group;
  if (layout.kind == PanelKind::BlockFp4 && !grouped)
    return fail(Code::Unsupported, "{} matrices are multiplied in groups of columns; this one has one scale per row or tensor", name(q.dtype));
  if (!code_panel && grouped)
    return fail(Code::Unsupported, "{} matrices are multiplied with one scale per row; this one has groups", name(q.dtype));
  LOOM_TRY(Matrix m, create(q.dtype, layout, q.rows, q.cols, std::move(pool)));
  const std::size_t size = element_bytes(layout.kind), code_size = q.code_bytes(), blocks = ceil_div(q.cols, kBlockCols);
  const auto scale_at = [&](std::size_t row, std::size_t col) { return q.scales.empty() ? 1.0 : q.scales[q.span_of(row, col)]; };
  const auto zero_at = [&](std::size_t row, std::size_t col) { return q.zero_points.empty() ? 0 : q.zero_points[q.span_of(row, col)]; };
  const int down = layout.kind == PanelKind::RowBytes && layout.has_zeros ? 128 : 0;
  StopCheck check(stop);
  for (std::size_t row = 0; row < q.rows && !check.before(q.cols); ++row) {
    std::byte* panel = m.data_ + row / kPanelRows * m.panel_bytes_;
    const std::size_t r = row % kPanelRows;
    if (layout.has_row_scales()) {
      const double s = scale_at(row, 0);
      is_wide(layout.kind) ? void(m.row_scales_.as<double>()[row] = s) : void(m.row_scales_.as<float>()[row] = static_cast<float>(s));
      if (layout.has_zeros && is_wide(layout.kind)) m.row_zeros_.as<double>()[row] = static_cast<double>(zero_at(row, 0));
      if (layout.has_zeros && row_panel) m.row_zeros_.as<std::int32_t>()[row] = static_cast<std::int32_t>(zero_at(row, 0) - down);
    }
    if (!code_panel) {
      const std::byte* from = q.codes.data() + row * q.cols * code_size;
      for (std::size_t c = 0; c < q.cols; ++c) std::memcpy(panel + (c * kPanelRows + r) * size, from + c * code_size, size);
      continue;
    }
    const auto* codes = reinterpret_cast<const std::int8_t*>(q.codes.data()) + row * q.cols;   // all these types have codes of one byte
    for (std::size_t b = 0; b < blocks; ++b) {
      const std::size_t c = b * kBlockCols, n = std::min(kBlockCols, q.cols - c);
      const BlockPlace at = block_place(layout, b, blocks);
      for (std::size_t i = 0; i < n; ++i)
        put_code(layout.kind, panel + at.codes, r, i, has_bits(layout.kind) ? codes[c + i] > 0 : codes[c + i] + layout.code_offset - down);
      if (row_panel || b % layout.group_blocks() != 0) continue;
      const auto s = static_cast<float>(scale_at(row, c));
      std::memcpy(panel + at.factors + r * 4, &s, 4);
      if (layout.has_zeros) panel[at.factors + layout.factor_bytes() - kPanelRows + r] = static_cast<std::byte>(zero_at(row, c));
    }
  }
  LOOM_TRY_VOID(check.end());
  return m;
}

Result<Matrix> Matrix::from_bitnet(std::span<const std::byte> bytes, std::size_t rows, std::size_t cols, float scale, std::shared_ptr<PanelPool> pool,
                                   const Stop& stop) {
  LOOM_TRY(const std::size_t elements, checked_mul(rows, cols));
  if (rows % 4 != 0 || bytes.size() != elements / 4)
    return fail(Code::ShapeMismatch, "{} bytes of b1.58 codes given for a matrix of {} x {}, expected {} with rows in fours", bytes.size(), rows, cols,
                elements / 4);
  if (!finite(scale)) return fail(Code::NonFinite, "weight_scale is not a finite number");
  const PanelLayout layout = panel_layout(DType::ternary);
  LOOM_TRY(Matrix m, create(DType::ternary, layout, rows, cols, std::move(pool)));
  for (std::size_t row = 0; row < rows; ++row) m.row_scales_.as<float>()[row] = scale;
  const std::size_t quarter = rows / 4;
  StopCheck check(stop);
  for (std::size_t row = 0; row < rows && !check.before(cols); ++row) {
    const std::byte* from = bytes.data() + row % quarter * cols;
    const auto shift = static_cast<unsigned>(row / quarter * 2);
    std::byte* to = m.data_ + row / kPanelRows * m.panel_bytes_ + row % kPanelRows * 4;
    // Four bytes of a panel hold the codes of four columns, and of those 8, 16 and 24 further on: whole words are shifted together.
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

void Matrix::refill(std::span<const float> values, std::size_t first, std::size_t last) {
  LOOM_ASSERT(layout_.kind == PanelKind::Float32 && values.size() == rows_ * cols_ && last <= panels());
  for (std::size_t p = first; p < last; ++p) {
    const std::size_t row = p * kPanelRows, count = std::min(kPanelRows, rows_ - row);
    transpose(values.data() + row * cols_, cols_, count, cols_, reinterpret_cast<float*>(data_ + p * panel_bytes_), kPanelRows);
  }
}

Result<Matrix> Matrix::from_floats(DType dtype, std::span<const float> values, std::size_t rows, std::size_t cols, std::shared_ptr<PanelPool> pool) {
  if (values.size() != rows * cols) return fail(Code::ShapeMismatch, "{} values given for a matrix of {} x {}", values.size(), rows, cols);
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

namespace {

template <std::size_t kBits>
void decode_codes(const Matrix& m, std::size_t row, float* out) {
  const PanelLayout& layout = m.layout();
  const std::byte* panel = m.panel(row / kPanelRows);
  const std::size_t r = row % kPanelRows, blocks = ceil_div(m.cols(), kBlockCols);
  const auto number = [](int stored, int zero) { return static_cast<float>(kBits == 1 ? 2 * stored - 1 : stored - zero); };
  for (std::size_t b = 0; b < blocks; ++b) {
    const BlockPlace at = block_place(layout, b, blocks);
    const std::byte *block = panel + at.codes, *factors = panel + at.factors;
    const std::size_t first = b * kBlockCols, n = std::min(kBlockCols, m.cols() - first);
    if (is_row_panel(layout.kind)) {
      const int zero = layout.code_offset + (layout.has_zeros ? m.row_zeros()[row] : 0);
      const float scale = m.row_scales()[row];
      for (std::size_t i = 0; i < n; ++i) out[first + i] = snapped(number(stored_code<kBits>(block, r, i), zero) * scale);
      continue;
    }
    const int zero = layout.code_offset + (layout.has_zeros ? static_cast<int>(zero_byte(layout, factors, r)) : 0);
    for (std::size_t sub = 0; sub * layout.sub_cols < n; ++sub) {
      const std::size_t slot = sub * (layout.has_min ? 2 : 1), end = std::min<std::size_t>(n, (sub + 1) * layout.sub_cols);
      const float d = panel_factor(layout, factors, slot, r), m = layout.has_min ? panel_factor(layout, factors, slot + 1, r) : 0.0f;
      const bool is_fp4 = layout.kind == PanelKind::BlockFp4, has_min = layout.has_min;
      for (std::size_t i = sub * layout.sub_cols; i < end; ++i) {
        const int stored = stored_code<kBits>(block, r, i);
        const float product = (kBits == 4 && is_fp4 ? Fp4E2M1::decode(static_cast<std::uint8_t>(stored)) : number(stored, zero)) * d;
        out[first + i] = snapped(has_min ? product + m : product);
      }
    }
  }
}

}  // namespace

void Matrix::decode_row(std::size_t row, float* out) const {
  LOOM_ASSERT(row < rows_);
  const std::byte* panel = this->panel(row / kPanelRows);
  const std::size_t r = row % kPanelRows;
  if (!is_code_panel(layout_.kind)) {
    const std::size_t size = element_bytes(layout_.kind);
    const std::byte* src = panel + r * size;
    for (std::size_t c = 0; c < cols_; ++c, src += kPanelRows * size) {
      if (is_wide(layout_.kind)) {
        out[c] = snapped(static_cast<float>((wide_code(layout_, src) - (layout_.has_zeros ? wide_row_zeros()[row] : 0.0)) * wide_row_scales()[row]));
      } else {
        decode_to_float(dtype_, src, out + c, 1);
        if (layout_.has_row_scales()) out[c] = snapped(static_cast<float>(static_cast<double>(out[c]) * static_cast<double>(row_scales()[row])));
      }
    }
    return;
  }
  with_bits(layout_.kind, [&]<std::size_t kBits>() { decode_codes<kBits>(*this, row, out); });
}

Result<QuantizedMatrix> Matrix::to_quantized(const Stop& stop) const {
  if (is_block_format(dtype_)) return fail(Code::Unsupported, "{} blocks are not kept as they stood in their file", name(dtype_));
  QuantizedMatrix q;
  q.dtype = dtype_, q.rows = rows_, q.cols = cols_;
  const bool row_panel = is_row_panel(layout_.kind), code_panel = is_code_panel(layout_.kind), wide = is_wide(layout_.kind);
  // Scales lie per row also where one holds for the whole tensor: then they are all the same.
  q.span = {code_panel && !row_panel ? Granularity::Group : layout_.has_row_scales() ? Granularity::Row : Granularity::Tensor,
            code_panel && !row_panel ? layout_.sub_cols : kBlockCols};
  const std::size_t size = q.code_bytes(), blocks = ceil_div(cols_, kBlockCols);
  const int up = layout_.kind == PanelKind::RowBytes && layout_.has_zeros ? 128 : 0;
  q.codes.resize(rows_ * cols_ * size);
  StopCheck check(stop);
  for (std::size_t row = 0; row < rows_ && !check.before(cols_); ++row) {
    const std::byte* panel = this->panel(row / kPanelRows);
    const std::size_t r = row % kPanelRows;
    std::byte* to = q.codes.data() + row * cols_ * size;
    if (layout_.has_row_scales()) q.scales.push_back(wide ? wide_row_scales()[row] : static_cast<double>(row_scales()[row]));
    if (layout_.has_zeros && wide) q.zero_points.push_back(static_cast<std::int64_t>(wide_row_zeros()[row]));
    if (layout_.has_zeros && row_panel) q.zero_points.push_back(row_zeros()[row] + up);
    if (!code_panel) {
      for (std::size_t c = 0; c < cols_; ++c) std::memcpy(to + c * size, panel + (c * kPanelRows + r) * size, size);
      continue;
    }
    for (std::size_t b = 0; b < blocks; ++b) {
      const BlockPlace at = block_place(layout_, b, blocks);
      const std::size_t first = b * kBlockCols;
      for (std::size_t i = 0; i < std::min(kBlockCols, cols_ - first); ++i) {
        const int stored = with_bits(layout_.kind, [&]<std::size_t kBits>() { return stored_code<kBits>(panel + at.codes, r, i); });
        to[first + i] = static_cast<std::byte>(has_bits(layout_.kind) ? 2 * stored - 1 : stored - layout_.code_offset + up);
      }
      if (row_panel || b % layout_.group_blocks() != 0) continue;
      q.scales.push_back(static_cast<double>(panel_factor(layout_, panel + at.factors, 0, r)));
      if (layout_.has_zeros) q.zero_points.push_back(static_cast<int>(zero_byte(layout_, panel + at.factors, r)));
    }
  }
  LOOM_TRY_VOID(check.end());
  return q;
}

void Matrix::decode_row(std::size_t row, double* out) const {
  LOOM_ASSERT(row < rows_);
  const bool wide = is_wide(layout_.kind);
  if (!wide && layout_.kind != PanelKind::Float64) {
    std::vector<float> narrow(cols_);
    decode_row(row, narrow.data());
    std::ranges::copy(narrow, out);
    return;
  }
  const std::size_t size = element_bytes(layout_.kind);
  const std::byte* src = panel(row / kPanelRows) + row % kPanelRows * size;
  for (std::size_t c = 0; c < cols_; ++c, src += kPanelRows * size)
    out[c] = wide ? (wide_code(layout_, src) - (layout_.has_zeros ? wide_row_zeros()[row] : 0.0)) * wide_row_scales()[row] : load_le<double>(src);
}

}  // namespace loom
