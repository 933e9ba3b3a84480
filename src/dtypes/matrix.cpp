#include "dtypes/matrix.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <vector>

#include "core/checked.h"
#include "core/hooks.h"
#include "core/little_endian.h"
#include "core/system.h"
#include "core/transpose.h"
#include "core/weight_memory.h"
#include "dtypes/decode.h"
#include "dtypes/panel_pages.h"
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
  LOOM_TRY(pool->memory_, create_weight_buffer(bytes));
  pool->has_pages_ = bytes >= os::kHugePage && memory_hook() == nullptr && os::page_bytes() != 0;
  return pool;
}

std::size_t PanelPool::room_for(std::size_t bytes) {
  return round_up(bytes, std::max(Buffer::kAlignment, os::page_bytes()));
}

std::byte* PanelPool::take(std::size_t bytes) {
  const std::size_t padded = room_for(bytes);
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
    LOOM_TRY(m.own_, create_weight_buffer(bytes));
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

void Matrix::let_panels_leave(std::string name, std::function<Result<void>(std::span<std::byte>)> remake) {
  if (pool_ != nullptr && pool_->has_pages())
    pages_ =
        std::make_shared<PanelPages>(std::move(name), std::span(data_, panels() * panel_bytes_), std::move(remake));
}

std::vector<std::byte> Matrix::beginning(std::size_t bytes) const {
  if (pages_ != nullptr) return pages_->beginning(bytes);
  return {data_, data_ + std::min({bytes, panels() * panel_bytes_, PanelPages::kKept})};
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
    RowBlock<std::byte>::Codes stored{};
    const auto take = [&](std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) {
        const int code = codes[block.first + i];
        stored[i] = static_cast<std::uint8_t>((kBits == 1 ? code > 0 : code + offset) & ((1 << kBits) - 1));
      }
    };
    block.count == kBlockCols ? take(kBlockCols) : take(block.count);  // a constant number goes many at a time
    block.template put_codes<kBits>(stored);
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
    const auto stored = block.template all_codes<kBits>();
    for (std::size_t i = 0; i < block.count; ++i)
      to[block.first + i] = static_cast<std::byte>(kBits == 1 ? 2 * stored[i] - 1 : stored[i] - offset);
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
  StopCheck check(stop);
  for (std::size_t row = 0; row < q.rows && !check.before(q.cols); ++row) m.put_row(q, row, row);
  LOOM_TRY_VOID(check.end());
  return m;
}

void Matrix::put_row(const QuantizedMatrix& q, std::size_t from, std::size_t to) {
  const PanelRow<std::byte> place(layout_, data_, panel_bytes_, to, cols_);
  if (layout_.has_row_scales()) put_row_factors(to, scale_of(q, from, 0), zero_point_of(q, from, 0));
  if (traits(layout_.kind).holds_codes())
    return with_code_bits(layout_.kind, [&]<std::size_t kBits>() { put_codes<kBits>(q, from, layout_, place); });
  const std::size_t size = q.code_bytes();
  const std::byte* const codes = q.codes.data() + from * cols_ * size;
  const auto put = [&](auto constant) {
    for (std::size_t c = 0; c < cols_; ++c) std::memcpy(place.element(c), codes + c * constant(), constant());
  };
  size == 1   ? put(std::integral_constant<std::size_t, 1>{})
  : size == 2 ? put(std::integral_constant<std::size_t, 2>{})
  : size == 4 ? put(std::integral_constant<std::size_t, 4>{})
              : put(std::integral_constant<std::size_t, 8>{});
}

Result<QuantizedMatrix> Matrix::to_quantized(const Stop& stop) const {
  if (is_block_format(dtype_))
    return fail(Code::Unsupported, "{} blocks are not kept as they stood in their file", name(dtype_));
  const PanelTraits& kind = traits(layout_.kind);
  LOOM_TRY(const PanelHold held, PanelHold::take(*this));
  QuantizedMatrix q;
  q.dtype = dtype_, q.rows = rows_, q.cols = cols_;
  // There is a scale per row even where one holds for the whole tensor: then they are all equal.
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

void Matrix::refill(std::span<const float> values, std::size_t first, std::size_t last, QuantizedMatrix& row) {
  LOOM_ASSERT(values.size() == rows_ * cols_ && last <= panels());
  if (auto held = PanelHold::take(*this)) held->keep();
  for (std::size_t p = first; layout_.kind == PanelKind::Float32 && p < last; ++p) {
    const std::size_t begin = p * kPanelRows, count = std::min(kPanelRows, rows_ - begin);
    transpose(values.data() + begin * cols_, cols_, count, cols_, reinterpret_cast<float*>(data_ + p * panel_bytes_),
              kPanelRows);
  }
  if (layout_.kind == PanelKind::Float32) return;
  for (std::size_t r = first * kPanelRows; r < std::min(last * kPanelRows, rows_); ++r) {
    const auto from = values.subspan(r * cols_, cols_);
    if (row.span.granularity != Granularity::Tensor) estimate_scales(row, from);
    encode(row, from);
    put_row(row, 0, r);
  }
}

namespace {

// Returns a code minus its zero point. Codes of less than eight bits are stored without a sign.
template <std::size_t kBits>
int number_of(std::uint8_t stored, int zero) {
  if (kBits == 1) return 2 * stored - 1;
  return (kBits == 8 ? static_cast<std::int8_t>(stored) : stored) - zero;
}

// value = scale * code + min for the sub-blocks of a block.
template <std::size_t kBits>
void decode_block(const PanelLayout& layout, const RowBlock<const std::byte>& block, float* out) {
  const int zero = layout.code_offset + (layout.has_zeros ? static_cast<int>(block.zero_point(layout)) : 0);
  const auto stored = block.template all_codes<kBits>();
  float numbers[kBlockCols];
  const auto fill = [&](auto number) {
    for (std::size_t i = 0; i < kBlockCols; ++i) numbers[i] = static_cast<float>(number(stored[i]));
  };
  if (kBits == 4 && layout.kind == PanelKind::BlockFp4)
    fill(Fp4E2M1::decode);
  else if (kBits == 4 && layout.kind == PanelKind::BlockTwiceFp4)
    fill([&](std::uint8_t code) { return kTwiceFp4[code] - zero; });
  else
    fill([&](std::uint8_t code) { return number_of<kBits>(code, zero); });
  for (std::size_t sub = 0; sub * layout.sub_cols < block.count; ++sub) {
    const std::size_t end = std::min<std::size_t>(block.count, (sub + 1) * layout.sub_cols);
    const float scale = block.scale(layout, sub), min = layout.has_min ? block.min(layout, sub) : 0.0f;
    for (std::size_t i = sub * layout.sub_cols; i < end; ++i)
      out[i] = snap(layout.has_min ? numbers[i] * scale + min : numbers[i] * scale);
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
    const auto stored = block.template all_codes<kBits>();
    const auto decode = [&](std::size_t count) {
      for (std::size_t i = 0; i < count; ++i)
        out[block.first + i] = snap(static_cast<float>(number_of<kBits>(stored[i], zero)) * scale);
    };
    block.count == kBlockCols ? decode(kBlockCols) : decode(block.count);  // a constant number goes many at a time
  }
}

}  // namespace

// Where panels that have left cannot be made again, the process ends: callers with a way to report the error take a
// PanelHold first.
void Matrix::decode_row(std::size_t row, float* out) const {
  LOOM_ASSERT(row < rows_);
  const auto held = PanelHold::take(*this);
  LOOM_ASSERT(held);
  if (traits(layout_.kind).holds_codes()) {
    with_code_bits(layout_.kind, [&]<std::size_t kBits>() { decode_codes<kBits>(*this, row, out); });
    return;
  }
  const PanelRow<const std::byte> from = row_of(*this, row);
  if (traits(layout_.kind).is_wide()) {
    for (std::size_t c = 0; c < cols_; ++c) out[c] = snap(static_cast<float>(wide_value(*this, row, from.element(c))));
    return;
  }
  const std::size_t size = traits(layout_.kind).element_bytes;
  std::byte some[8 * kBlockCols];  // side by side, as decode_to_float() takes them
  for (std::size_t first = 0; first < cols_; first += kBlockCols) {
    const std::size_t count = std::min(kBlockCols, cols_ - first);
    for (std::size_t i = 0; i < count; ++i) std::memcpy(some + i * size, from.element(first + i), size);
    decode_to_float(dtype_, some, out + first, count);
  }
  for (std::size_t c = 0; layout_.has_row_scales() && c < cols_; ++c)
    out[c] = snap(static_cast<float>(static_cast<double>(out[c]) * static_cast<double>(row_scales()[row])));
}

// Reads floats column by column, in the order of memory: row by row, every line of the panel would be read for each of
// its numbers.
void Matrix::decode_panel(std::size_t p, float* out) const {
  const std::size_t first = p * kPanelRows, count = std::min(kPanelRows, rows_ - first);
  const PanelTraits& kind = traits(layout_.kind);
  const auto held = PanelHold::take(*this);
  LOOM_ASSERT(held);
  if (kind.holds_codes() || kind.is_wide() || layout_.has_row_scales()) {
    for (std::size_t r = 0; r < count; ++r) decode_row(first + r, out + r * cols_);
    return;
  }
  constexpr std::size_t kColumns = 64;
  float columns[kColumns * kPanelRows];
  for (std::size_t c = 0; c < cols_; c += kColumns) {
    const std::size_t some = std::min(kColumns, cols_ - c);
    decode_to_float(dtype_, panel(p) + c * kPanelRows * kind.element_bytes, columns, some * kPanelRows);
    transpose(columns, kPanelRows, some, count, out + c, cols_);
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
  const auto held = PanelHold::take(*this);
  LOOM_ASSERT(held);
  const PanelRow<const std::byte> from = row_of(*this, row);
  for (std::size_t c = 0; c < cols_; ++c)
    out[c] =
        traits(layout_.kind).is_wide() ? wide_value(*this, row, from.element(c)) : load_le<double>(from.element(c));
}

}  // namespace loom
