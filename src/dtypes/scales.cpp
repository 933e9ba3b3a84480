#include "dtypes/scales.h"

#include <algorithm>

namespace loom {
namespace {

// The largest size of a code less its zero point, or somewhat more.
double largest_code(DType t) {
  switch (t) {
    case DType::fp8e4m3: return 448;
    case DType::fp8e5m2: return 57344;
    case DType::fp4: return 6;
    case DType::ternary:
    case DType::binary: return 1;
    default: return info(t).bits == 64 ? 0x1p64 : static_cast<double>(std::uint64_t{1} << info(t).bits);
  }
}

// Elements of a row that span k covers, from `first` on.
struct Elements {
  std::size_t first, count;
};
Elements elements_of(const QuantizedMatrix& m, std::size_t span) {
  if (m.span.granularity == Granularity::Tensor) return {0, m.rows * m.cols};
  const std::size_t per_row = m.spans_per_row(), row = span / per_row;
  const std::size_t length = m.span.granularity == Granularity::Row ? m.cols : m.span.group_size;
  const std::size_t col = span % per_row * length;
  return {row * m.cols + col, std::min(length, m.cols - col)};
}

// Some code of the type would be too large for this scale: whether one of the span is.
Result<void> check_codes(const QuantizedMatrix& m, std::size_t span) {
  const double scale = m.scales[span];
  const auto [first, count] = elements_of(m, span);
  const double zero_point = m.zero_points.empty() ? 0 : static_cast<double>(m.zero_points[span]);
  const bool is_number = info(m.dtype).non_finite_mask == 0 && m.dtype != DType::fp4;
  for (std::size_t i = first; i < first + count; ++i) {
    const double code = is_number ? static_cast<double>(m.code(i)) - zero_point : largest_code(m.dtype);
    if (!gives_finite_weights(scale, code < 0 ? -code : code))
      return fail(Code::NonFinite, "weight {}: its code times scale {} is not a finite number", i, scale);
  }
  return {};
}

// The codes of fp8, a byte each, that stand for an infinity or no number.
Result<void> check_float_codes(const QuantizedMatrix& m) {
  const auto mask = static_cast<std::byte>(info(m.dtype).non_finite_mask);
  const auto bad = std::ranges::find_if(m.codes, [mask](std::byte code) { return (code & mask) == mask; });
  if (mask == std::byte{} || bad == m.codes.end()) return {};
  return fail(Code::NonFinite, "weight {} is not a finite number", bad - m.codes.begin());
}

}  // namespace

Result<void> check_scales(const QuantizedMatrix& m) {
  if (m.scales.empty()) return {};
  LOOM_TRY_VOID(check_float_codes(m));
  const double most = largest_code(m.dtype);
  for (std::size_t k = 0; k < m.scales.size(); ++k) {
    const double scale = m.scales[k];
    if (!gives_finite_weights(scale, 0)) return fail(Code::NonFinite, "scale {} is not finite", k);
    if (m.span.granularity == Granularity::Group && !may_scale_sums(scale))
      return fail(Code::CorruptData, "scale {} of a group is {}, expected 0 or at least 2^-24 in size", k, scale);
    if (gives_finite_weights(scale, most)) continue;
    LOOM_TRY_VOID(check_codes(m, k));
  }
  return {};
}

}  // namespace loom
