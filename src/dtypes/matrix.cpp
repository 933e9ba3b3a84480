#include "dtypes/matrix.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "core/checked.h"
#include "dtypes/block_formats.h"
#include "dtypes/float16.h"

namespace loom {
namespace {

constexpr std::size_t element_bytes(PanelKind kind) {
  switch (kind) {
    case PanelKind::Float64: return 8;
    case PanelKind::Float32: return 4;
    case PanelKind::Float16:
    case PanelKind::BFloat16: return 2;
    default: return 1;
  }
}

bool is_code_panel(PanelKind kind) { return kind >= PanelKind::BlockNibbles; }
bool is_block_panel(PanelKind kind) { return kind == PanelKind::BlockNibbles || kind == PanelKind::BlockBytes; }
constexpr std::size_t code_bytes(PanelKind kind) { return kind == PanelKind::BlockNibbles ? 256 : 512; }

// One block of 32 columns of one row, before it is spread over a panel.
struct BlockRow {
  std::int8_t codes[256];
  float scales[16];
  float mins[16];
};

// Writes 32 codes, scales and minima of row r into one block of a panel.
void put_block(const PanelLayout& layout, std::byte* block, std::size_t r, const std::int8_t* codes, const float* scales, const float* mins) {
  auto* c = reinterpret_cast<std::uint8_t*>(block);
  if (layout.kind == PanelKind::BlockNibbles) {
    for (std::size_t i = 0; i < 16; ++i) {
      const int low = codes[i] + layout.code_offset, high = codes[16 + i] + layout.code_offset;
      c[64 * (i / 4) + 4 * r + i % 4] = static_cast<std::uint8_t>(low | high << 4);
    }
  } else {
    for (std::size_t i = 0; i < 32; ++i) c[64 * (i / 4) + 4 * r + i % 4] = static_cast<std::uint8_t>(codes[i]);
  }
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

float panel_factor(const PanelLayout& layout, const std::byte* block, std::size_t slot, std::size_t r) {
  const std::byte* factors = block + code_bytes(layout.kind);
  if (layout.half_scales) {
    std::uint16_t half;
    std::memcpy(&half, factors + (slot * kPanelRows + r) * 2, 2);
    return float16_to_float(half);
  }
  float value;
  std::memcpy(&value, factors + (slot * kPanelRows + r) * 4, 4);
  return value;
}

int panel_code(const PanelLayout& layout, const std::byte* block, std::size_t r, std::size_t i) {
  const auto* c = reinterpret_cast<const std::uint8_t*>(block);
  if (layout.kind != PanelKind::BlockNibbles) return static_cast<std::int8_t>(c[64 * (i / 4) + 4 * r + i % 4]);
  const std::size_t k = i % 16;
  const int byte = c[64 * (k / 4) + 4 * r + k % 4];
  return (i < 16 ? byte & 15 : byte >> 4) - layout.code_offset;
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

Result<void> pack_word_blocks(const WordBlocks& from, const Source& source, std::byte* panels, std::size_t panel_bytes, std::size_t block_bytes) {
  const std::size_t blocks = source.cols / kBlockCols, source_block = 2 * from.factors + 4 * from.words;
  for (std::size_t row = 0; row < source.rows; ++row) {
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

Result<void> pack_blocks(const Source& source, const PanelLayout& layout, std::byte* panels, std::size_t panel_bytes) {
  if (source.dtype == DType::q4_0) return pack_word_blocks({1, 4}, source, panels, panel_bytes, layout.block_bytes());
  if (source.dtype == DType::q4_1) return pack_word_blocks({2, 4}, source, panels, panel_bytes, layout.block_bytes());
  if (source.dtype == DType::q8_0) return pack_word_blocks({1, 8}, source, panels, panel_bytes, layout.block_bytes());
  const BlockLayout& from = block_layout(source.dtype);
  const std::size_t blocks = source.cols / from.elements, parts = from.elements / kBlockCols;
  BlockRow unpacked;
  for (std::size_t row = 0; row < source.rows; ++row)
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

Result<void> pack_floats(const Source& source, PanelKind kind, std::byte* panels, std::size_t panel_bytes) {
  const std::size_t size = element_bytes(kind);
  for (std::size_t row = 0; row < source.rows; ++row) {
    const std::byte* src = source.row(row);
    std::byte* dst = panels + row / kPanelRows * panel_bytes + row % kPanelRows * size;
    for (std::size_t c = 0; c < source.cols; ++c, src += size, dst += kPanelRows * size) {
      if (kind == PanelKind::Float32) {
        float v;
        std::memcpy(&v, src, 4);
        if (!finite(v)) return non_finite(source.dtype, row, c);
        v = snapped(v);
        std::memcpy(dst, &v, 4);
      } else {
        std::uint16_t half;
        std::memcpy(&half, src, 2);
        const float v = kind == PanelKind::Float16 ? float16_to_float(half) : bfloat16_to_float(half);
        if (!finite(v)) return non_finite(source.dtype, row, c);
        if (snapped(v) == 0.0f) half = 0;
        std::memcpy(dst, &half, 2);
      }
    }
  }
  return {};
}

// Nearest even for |x| <= 2^22 without touching the rounding mode or libm.
int nearest(float x) { return static_cast<int>((x + 12582912.0f) - 12582912.0f); }

// A group scale keeps 9 significant bits, rounded away from zero (D-04), and is 1 where it would be below 2^-24 (D-01).
float group_scale(float largest, float top_code) {
  const float s = largest / top_code;
  if (s < 0x1p-24f) return 1.0f;
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(s);
  return std::bit_cast<float>((bits + 0x7fffu) & ~0x7fffu);
}

}  // namespace

std::size_t PanelLayout::block_bytes() const {
  if (!is_block_panel(kind)) return code_bytes(kind);
  return code_bytes(kind) + kBlockCols / sub_cols * kPanelRows * (half_scales ? 2 : 4) * (has_min ? 2 : 1);
}

std::size_t PanelLayout::panel_bytes(std::size_t cols) const {
  if (is_code_panel(kind)) return ceil_div(cols, kBlockCols) * block_bytes();
  return cols * kPanelRows * element_bytes(kind);
}

Result<PanelLayout> panel_layout(DType dtype) {
  using K = PanelKind;
  switch (dtype) {
    case DType::float32: return PanelLayout{.kind = K::Float32};
    case DType::float16: return PanelLayout{.kind = K::Float16};
    case DType::bfloat16: return PanelLayout{.kind = K::BFloat16};
    case DType::int8: return PanelLayout{.kind = K::RowBytes};
    case DType::int4: return PanelLayout{.kind = K::BlockNibbles, .code_offset = 8};
    case DType::q4_0: return PanelLayout{.kind = K::BlockNibbles, .half_scales = true, .code_offset = 8};
    case DType::q4_1: return PanelLayout{.kind = K::BlockNibbles, .half_scales = true, .has_min = true};
    case DType::q5_0:
    case DType::q8_0: return PanelLayout{.kind = K::BlockBytes, .half_scales = true};
    case DType::q5_1: return PanelLayout{.kind = K::BlockBytes, .half_scales = true, .has_min = true};
    case DType::q2_k: return PanelLayout{.kind = K::BlockBytes, .sub_cols = 16, .has_min = true};
    case DType::q3_k:
    case DType::q6_k: return PanelLayout{.kind = K::BlockBytes, .sub_cols = 16};
    case DType::q4_k: return PanelLayout{.kind = K::BlockNibbles, .has_min = true};
    case DType::q5_k: return PanelLayout{.kind = K::BlockBytes, .has_min = true};
    case DType::tq1_0:
    case DType::tq2_0: return PanelLayout{.kind = K::BlockNibbles, .half_scales = true, .code_offset = 1};
    case DType::mxfp4: return PanelLayout{.kind = K::BlockBytes};
    default: return fail(Code::Unsupported, "matrices of type {} have no kernel yet", name(dtype));
  }
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

Result<Matrix> Matrix::create(DType dtype, std::size_t rows, std::size_t cols, std::shared_ptr<PanelPool> pool) {
  Matrix m;
  m.dtype_ = dtype;
  LOOM_TRY(m.layout_, panel_layout(dtype));
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
  if (m.layout_.kind == PanelKind::RowBytes) {
    // One i32 holds the sum of a whole row: 127 * 128 * 2^17 is its limit.
    if (cols > (std::size_t{1} << 17))
      return fail(Code::Unsupported, "int8 rows of {} columns: at most {} are summed exactly", cols, std::size_t{1} << 17);
    LOOM_TRY(m.row_scales_, Buffer::create(m.panels() * kPanelRows * sizeof(float)));
  }
  return m;
}

Result<Matrix> Matrix::from_source(DType dtype, std::span<const std::byte> bytes, std::size_t rows, std::size_t cols,
                                   std::span<const std::uint32_t> row_order, std::shared_ptr<PanelPool> pool) {
  LOOM_TRY(const std::size_t stride, row_bytes(dtype, cols));
  LOOM_TRY(const std::size_t expected, checked_mul(stride, rows));
  if (bytes.size() != expected)
    return fail(Code::ShapeMismatch, "{} bytes given for a {} matrix of {} x {}, expected {}", bytes.size(), name(dtype), rows, cols, expected);
  LOOM_ASSERT(row_order.empty() || row_order.size() == rows);
  LOOM_TRY(Matrix m, create(dtype, rows, cols, std::move(pool)));
  const Source source{dtype, bytes, rows, cols, stride, row_order};
  if (is_block_format(dtype)) {
    LOOM_TRY_VOID(pack_blocks(source, m.layout_, m.data_, m.panel_bytes_));
  } else if (!is_code_panel(m.layout_.kind)) {
    LOOM_TRY_VOID(pack_floats(source, m.layout_.kind, m.data_, m.panel_bytes_));
  } else {
    return fail(Code::Unsupported, "{} weights need scales beside their codes", name(dtype));
  }
  return m;
}

Result<Matrix> Matrix::from_floats(DType dtype, std::span<const float> values, std::size_t rows, std::size_t cols, std::shared_ptr<PanelPool> pool) {
  if (values.size() != rows * cols) return fail(Code::ShapeMismatch, "{} values given for a matrix of {} x {}", values.size(), rows, cols);
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!finite(values[i])) return non_finite(dtype, i / cols, i % cols);
  if (dtype == DType::float32) return from_source(dtype, std::as_bytes(values), rows, cols, {}, std::move(pool));
  if (is_block_format(dtype) || dtype == DType::float16 || dtype == DType::bfloat16) {
    LOOM_TRY(const std::size_t stride, row_bytes(dtype, cols));
    std::vector<std::byte> encoded(stride * rows);
    for (std::size_t row = 0; row < rows; ++row) {
      LOOM_TRY_VOID(encode_row(dtype, values.subspan(row * cols, cols), encoded.data() + row * stride));
    }
    return from_source(dtype, encoded, rows, cols, {}, std::move(pool));
  }
  LOOM_TRY(Matrix m, create(dtype, rows, cols, std::move(pool)));
  const std::size_t block_bytes = m.layout_.block_bytes();
  for (std::size_t row = 0; row < rows; ++row) {
    const float* w = values.data() + row * cols;
    float row_largest = 0;
    for (std::size_t c = 0; c < cols; ++c) row_largest = std::abs(w[c]) > row_largest ? std::abs(w[c]) : row_largest;
    const bool by_row = m.layout_.kind == PanelKind::RowBytes;
    const float row_scale = row_largest == 0 ? 1.0f : row_largest / 127.0f;
    if (by_row) m.row_scales_.as<float>()[row] = row_scale;
    for (std::size_t b = 0; b * kBlockCols < cols; ++b) {
      const std::size_t n = cols - b * kBlockCols < kBlockCols ? cols - b * kBlockCols : kBlockCols;
      const float* group = w + b * kBlockCols;
      float largest = 0;
      for (std::size_t i = 0; i < n; ++i) largest = std::abs(group[i]) > largest ? std::abs(group[i]) : largest;
      const float scale = by_row ? row_scale : largest == 0 ? 1.0f : group_scale(largest, 7.0f);
      const int top = by_row ? 127 : 7;
      std::int8_t codes[kBlockCols] = {};
      for (std::size_t i = 0; i < n; ++i) {
        const int code = nearest(group[i] / scale);
        codes[i] = static_cast<std::int8_t>(code > top ? top : code < -top ? -top : code);
      }
      std::byte* block = m.data_ + row / kPanelRows * m.panel_bytes_ + b * block_bytes;
      if (by_row) {
        for (std::size_t i = 0; i < kBlockCols; ++i) block[64 * (i / 4) + 4 * (row % kPanelRows) + i % 4] = static_cast<std::byte>(codes[i]);
      } else {
        put_block(m.layout_, block, row % kPanelRows, codes, &scale, nullptr);
      }
    }
  }
  // Rows that only fill the last panel hold the code of zero.
  if (m.layout_.code_offset != 0) {
    const std::int8_t zeros[kBlockCols] = {};
    const float one = 1.0f;
    for (std::size_t row = rows; row < m.panels() * kPanelRows; ++row)
      for (std::size_t b = 0; b * kBlockCols < cols; ++b)
        put_block(m.layout_, m.data_ + row / kPanelRows * m.panel_bytes_ + b * block_bytes, row % kPanelRows, zeros, &one, nullptr);
  }
  return m;
}

void Matrix::decode_row(std::size_t row, float* out) const {
  LOOM_ASSERT(row < rows_);
  const std::byte* panel = this->panel(row / kPanelRows);
  const std::size_t r = row % kPanelRows;
  if (!is_code_panel(layout_.kind)) {
    const std::size_t size = element_bytes(layout_.kind);
    const std::byte* src = panel + r * size;
    for (std::size_t c = 0; c < cols_; ++c, src += kPanelRows * size) {
      if (layout_.kind == PanelKind::Float32) {
        std::memcpy(out + c, src, 4);
      } else {
        std::uint16_t half;
        std::memcpy(&half, src, 2);
        out[c] = layout_.kind == PanelKind::Float16 ? float16_to_float(half) : bfloat16_to_float(half);
      }
    }
    return;
  }
  const std::size_t block_bytes = layout_.block_bytes();
  for (std::size_t c = 0; c < cols_; ++c) {
    const std::byte* block = panel + c / kBlockCols * block_bytes;
    const std::size_t i = c % kBlockCols;
    const float code = static_cast<float>(panel_code(layout_, block, r, i));
    if (layout_.kind == PanelKind::RowBytes) {
      out[c] = snapped(code * row_scales()[row]);
      continue;
    }
    const std::size_t slot = i / layout_.sub_cols * (layout_.has_min ? 2 : 1);
    const float product = code * panel_factor(layout_, block, slot, r);
    out[c] = snapped(layout_.has_min ? product + panel_factor(layout_, block, slot + 1, r) : product);
  }
}

}  // namespace loom
