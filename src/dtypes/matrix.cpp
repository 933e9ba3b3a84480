#include "dtypes/matrix.h"

#include <algorithm>
#include <vector>

#include "core/checked.h"
#include "core/little_endian.h"
#include "core/transpose.h"
#include "dtypes/decode.h"
#include "dtypes/panel_row.h"
#include "dtypes/scales.h"
#include "dtypes/small_float.h"

namespace loom {
namespace {

PanelRow<const std::byte> row_of(const Matrix& m, std::size_t row) {
  return {m.layout(), m.panel(0), m.panel_bytes(), row, m.cols()};
}

// Codes of bytes that have a zero point for each row are stored so much lower, to fit a signed byte; so is the zero
// point.
int lowered_by(const PanelLayout& layout) { return layout.kind == PanelKind::RowBytes && layout.has_zeros ? 128 : 0; }

double wide_code(const PanelLayout& layout, const std::byte* at) {
  switch (traits(layout.kind).element_bytes) {
    case 2: return layout.is_signed ? load_le<std::int16_t>(at) : load_le<std::uint16_t>(at);
    case 4:
      return layout.is_signed ? static_cast<double>(load_le<std::int32_t>(at))
                              : static_cast<double>(load_le<std::uint32_t>(at));
    default:
      return layout.is_signed ? static_cast<double>(load_le<std::int64_t>(at))
                              : static_cast<double>(load_le<std::uint64_t>(at));
  }
}
// Element `at` of row `row` of a wide panel.
double wide_value(const Matrix& m, std::size_t row, const std::byte* at) {
  return (wide_code(m.layout(), at) - (m.layout().has_zeros ? m.wide_row_zeros()[row] : 0.0)) *
         m.wide_row_scales()[row];
}

}  // namespace

PanelLayout panel_layout(DType dtype, ScaleSpan span) {
  PanelLayout layout = info(dtype).panel;
  span = resolved(dtype, span);
  if (is_block_format(dtype) || !traits(layout.kind).holds_codes()) return layout;
  if (span.granularity != Granularity::Group) {
    layout.kind = with_scales(layout.kind, PanelScales::ByRow);
    return layout;
  }
  layout.sub_cols = static_cast<std::uint8_t>(span.group_size);
  layout.kind = with_scales(layout.kind, PanelScales::ByGroup);
  if (layout.kind == PanelKind::BlockBytes) layout.code_offset = layout.has_zeros ? -128 : 0;
  return layout;
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

Result<Matrix> Matrix::create(DType dtype, const PanelLayout& layout, std::size_t rows, std::size_t cols,
                              std::shared_ptr<PanelPool> pool) {
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
  if (traits(layout.kind).sums_rows() && cols > (std::size_t{1} << 16))
    return fail(Code::Unsupported, "{} rows of {} columns: at most {} are summed exactly", name(dtype), cols,
                std::size_t{1} << 16);
  const std::size_t padded = m.panels() * kPanelRows;
  if (const std::size_t factor_bytes = traits(layout.kind).row_factor_bytes(); factor_bytes != 0) {
    LOOM_TRY(m.row_scales_, Buffer::create(padded * factor_bytes));
    if (layout.has_zeros) {
      LOOM_TRY(m.row_zeros_, Buffer::create(padded * factor_bytes));
    }
  }
  return m;
}

namespace {

double scale_of(const QuantizedMatrix& q, std::size_t row, std::size_t col) {
  return q.scales.empty() ? 1.0 : q.scales[q.span_of(row, col)];
}
std::int64_t zero_point_of(const QuantizedMatrix& q, std::size_t row, std::size_t col) {
  return q.zero_points.empty() ? 0 : q.zero_points[q.span_of(row, col)];
}

// Codes and factors of a row of q, whose codes have one byte each, in a panel of codes.
template <std::size_t kBits>
void put_codes(const QuantizedMatrix& q, std::size_t row, const PanelLayout& layout, const PanelRow<std::byte>& to) {
  const auto* codes = reinterpret_cast<const std::int8_t*>(q.codes.data()) + row * q.cols;
  const int offset = layout.code_offset - lowered_by(layout);
  const bool by_group = traits(layout.kind).scales == PanelScales::ByGroup;
  for (std::size_t b = 0; b < to.blocks(); ++b) {
    const auto block = to.block(b);
    for (std::size_t i = 0; i < block.count; ++i) {
      const int code = codes[block.first + i];
      block.template put_code<kBits>(i, kBits == 1 ? code > 0 : code + offset);
    }
    if (!by_group || block.in_group != 0) continue;
    block.put_scale(layout, 0, static_cast<float>(scale_of(q, row, block.first)));
    if (layout.has_zeros) block.zero_point(layout) = static_cast<std::byte>(zero_point_of(q, row, block.first));
  }
}

// Back to q, whose codes have their size already.
template <std::size_t kBits>
void get_codes(const PanelRow<const std::byte>& from, const PanelLayout& layout, std::size_t row, QuantizedMatrix& q) {
  std::byte* to = q.codes.data() + row * q.cols;
  const int offset = layout.code_offset - lowered_by(layout);
  const bool by_group = traits(layout.kind).scales == PanelScales::ByGroup;
  for (std::size_t b = 0; b < from.blocks(); ++b) {
    const auto block = from.block(b);
    for (std::size_t i = 0; i < block.count; ++i) {
      const int stored = block.template code<kBits>(i);
      to[block.first + i] = static_cast<std::byte>(kBits == 1 ? 2 * stored - 1 : stored - offset);
    }
    if (!by_group || block.in_group != 0) continue;
    q.scales.push_back(static_cast<double>(block.scale(layout, 0)));
    if (layout.has_zeros) q.zero_points.push_back(static_cast<int>(block.zero_point(layout)));
  }
}

}  // namespace

void Matrix::put_row_factors(std::size_t row, double scale, std::int64_t zero_point) {
  if (traits(layout_.kind).is_wide()) {
    row_scales_.as<double>()[row] = scale;
    if (layout_.has_zeros) row_zeros_.as<double>()[row] = static_cast<double>(zero_point);
  } else {
    row_scales_.as<float>()[row] = static_cast<float>(scale);
    if (layout_.has_zeros)
      row_zeros_.as<std::int32_t>()[row] = static_cast<std::int32_t>(zero_point - lowered_by(layout_));
  }
}

Result<Matrix> Matrix::from_quantized(const QuantizedMatrix& q, std::shared_ptr<PanelPool> pool, const Stop& stop) {
  const PanelLayout layout = panel_layout(q.dtype, q.span);
  const bool holds_codes = traits(layout.kind).holds_codes(), grouped = q.span.granularity == Granularity::Group;
  if (layout.kind == PanelKind::BlockFp4 && !grouped)
    return fail(Code::Unsupported,
                "{} matrices are multiplied in groups of columns; this one has one scale per row or tensor",
                name(q.dtype));
  if (!holds_codes && grouped)
    return fail(Code::Unsupported, "{} matrices are multiplied with one scale per row; this one has groups",
                name(q.dtype));
  LOOM_TRY_VOID(check_scales(q));
  LOOM_TRY(Matrix m, create(q.dtype, layout, q.rows, q.cols, std::move(pool)));
  const std::size_t size = q.code_bytes();
  StopCheck check(stop);
  for (std::size_t row = 0; row < q.rows && !check.before(q.cols); ++row) {
    const PanelRow<std::byte> to(layout, m.data_, m.panel_bytes_, row, q.cols);
    if (layout.has_row_scales()) m.put_row_factors(row, scale_of(q, row, 0), zero_point_of(q, row, 0));
    if (holds_codes) {
      with_code_bits(layout.kind, [&]<std::size_t kBits>() { put_codes<kBits>(q, row, layout, to); });
      continue;
    }
    const std::byte* from = q.codes.data() + row * q.cols * size;
    for (std::size_t c = 0; c < q.cols; ++c) std::memcpy(to.element(c), from + c * size, size);
  }
  LOOM_TRY_VOID(check.end());
  return m;
}

Result<QuantizedMatrix> Matrix::to_quantized(const Stop& stop) const {
  if (is_block_format(dtype_))
    return fail(Code::Unsupported, "{} blocks are not kept as they stood in their file", name(dtype_));
  const PanelTraits& kind = traits(layout_.kind);
  QuantizedMatrix q;
  q.dtype = dtype_, q.rows = rows_, q.cols = cols_;
  // Scales lie per row also where one holds for the whole tensor: then they are all the same.
  q.span.granularity = kind.scales == PanelScales::ByGroup ? Granularity::Group
                       : layout_.has_row_scales()          ? Granularity::Row
                                                           : Granularity::Tensor;
  q.span.group_size = kind.scales == PanelScales::ByGroup ? layout_.sub_cols : kBlockCols;
  const std::size_t size = q.code_bytes();
  q.codes.resize(rows_ * cols_ * size);
  StopCheck check(stop);
  for (std::size_t row = 0; row < rows_ && !check.before(cols_); ++row) {
    if (layout_.has_row_scales())
      q.scales.push_back(kind.is_wide() ? wide_row_scales()[row] : static_cast<double>(row_scales()[row]));
    if (layout_.has_zeros && kind.is_wide()) q.zero_points.push_back(static_cast<std::int64_t>(wide_row_zeros()[row]));
    if (layout_.has_zeros && kind.sums_rows()) q.zero_points.push_back(row_zeros()[row] + lowered_by(layout_));
    const PanelRow<const std::byte> from = row_of(*this, row);
    if (kind.holds_codes()) {
      with_code_bits(layout_.kind, [&]<std::size_t kBits>() { get_codes<kBits>(from, layout_, row, q); });
      continue;
    }
    std::byte* to = q.codes.data() + row * cols_ * size;
    for (std::size_t c = 0; c < cols_; ++c) std::memcpy(to + c * size, from.element(c), size);
  }
  LOOM_TRY_VOID(check.end());
  return q;
}

void Matrix::refill(std::span<const float> values, std::size_t first, std::size_t last) {
  LOOM_ASSERT(layout_.kind == PanelKind::Float32 && values.size() == rows_ * cols_ && last <= panels());
  for (std::size_t p = first; p < last; ++p) {
    const std::size_t row = p * kPanelRows, count = std::min(kPanelRows, rows_ - row);
    transpose(values.data() + row * cols_, cols_, count, cols_, reinterpret_cast<float*>(data_ + p * panel_bytes_),
              kPanelRows);
  }
}

namespace {

// value = scale * code + min for the sub-blocks of a block. A code below eight bits is never negative.
template <std::size_t kBits>
void decode_block(const PanelLayout& layout, const RowBlock<const std::byte>& block, float* out) {
  const int zero = layout.code_offset + (layout.has_zeros ? static_cast<int>(block.zero_point(layout)) : 0);
  const auto number = [&](std::size_t i) {
    const int stored = block.template code<kBits>(i);
    if (kBits == 4 && layout.kind == PanelKind::BlockFp4) return Fp4E2M1::decode(static_cast<std::uint8_t>(stored));
    if (kBits == 4 && layout.kind == PanelKind::BlockTwiceFp4) return static_cast<float>(kTwiceFp4[stored] - zero);
    return static_cast<float>(kBits == 1 ? 2 * stored - 1 : stored - zero);
  };
  for (std::size_t sub = 0; sub * layout.sub_cols < block.count; ++sub) {
    const std::size_t end = std::min<std::size_t>(block.count, (sub + 1) * layout.sub_cols);
    const float scale = block.scale(layout, sub), min = layout.has_min ? block.min(layout, sub) : 0.0f;
    for (std::size_t i = sub * layout.sub_cols; i < end; ++i)
      out[i] = snap(layout.has_min ? number(i) * scale + min : number(i) * scale);
  }
}

template <std::size_t kBits>
void decode_codes(const Matrix& m, std::size_t row, float* out) {
  const PanelLayout& layout = m.layout();
  const PanelRow<const std::byte> from = row_of(m, row);
  if (!traits(layout.kind).sums_rows()) {
    for (std::size_t b = 0; b < from.blocks(); ++b) decode_block<kBits>(layout, from.block(b), out + b * kBlockCols);
    return;
  }
  const int zero = layout.code_offset + (layout.has_zeros ? m.row_zeros()[row] : 0);
  const float scale = m.row_scales()[row];
  for (std::size_t b = 0; b < from.blocks(); ++b) {
    const auto block = from.block(b);
    for (std::size_t i = 0; i < block.count; ++i) {
      const int stored = block.template code<kBits>(i);
      out[block.first + i] = snap(static_cast<float>(kBits == 1 ? 2 * stored - 1 : stored - zero) * scale);
    }
  }
}

}  // namespace

void Matrix::decode_row(std::size_t row, float* out) const {
  LOOM_ASSERT(row < rows_);
  if (traits(layout_.kind).holds_codes()) {
    with_code_bits(layout_.kind, [&]<std::size_t kBits>() { decode_codes<kBits>(*this, row, out); });
    return;
  }
  const PanelRow<const std::byte> from = row_of(*this, row);
  for (std::size_t c = 0; c < cols_; ++c) {
    if (traits(layout_.kind).is_wide()) {
      out[c] = snap(static_cast<float>(wide_value(*this, row, from.element(c))));
    } else {
      decode_to_float(dtype_, from.element(c), out + c, 1);
      if (layout_.has_row_scales())
        out[c] = snap(static_cast<float>(static_cast<double>(out[c]) * static_cast<double>(row_scales()[row])));
    }
  }
}

void Matrix::decode_row(std::size_t row, double* out) const {
  LOOM_ASSERT(row < rows_);
  if (traits(layout_.kind).inputs != PanelInputs::F64) {
    std::vector<float> narrow(cols_);
    decode_row(row, narrow.data());
    std::ranges::copy(narrow, out);
    return;
  }
  const PanelRow<const std::byte> from = row_of(*this, row);
  for (std::size_t c = 0; c < cols_; ++c)
    out[c] =
        traits(layout_.kind).is_wide() ? wide_value(*this, row, from.element(c)) : load_le<double>(from.element(c));
}

}  // namespace loom
