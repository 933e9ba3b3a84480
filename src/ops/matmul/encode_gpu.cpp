// Values that become the panels of a matrix, on a graphics card: by kernels that estimate scales and one that encodes.

#include <algorithm>
#include <bit>

#include "backend/webgpu/gpu_device.h"
#include "backend/webgpu/wgsl/lanes.wgsl.h"
#include "core/checked.h"
#include "dtypes/code_rule.h"
#include "dtypes/small_float.h"
#include "ops/matmul/encode_codes.wgsl.h"
#include "ops/matmul/encode_elements.wgsl.h"
#include "ops/matmul/encode_floats.wgsl.h"
#include "ops/matmul/encode_groups.wgsl.h"
#include "ops/matmul/encode_numbers.wgsl.h"
#include "ops/matmul/encode_panels.wgsl.h"
#include "ops/matmul/encode_pieces.wgsl.h"
#include "ops/matmul/encode_rows.wgsl.h"
#include "ops/matmul/encode_scale.wgsl.h"
#include "ops/matmul/encode_spans.wgsl.h"
#include "ops/matmul/encode_values.wgsl.h"
#include "ops/matmul/encode_whole.wgsl.h"
#include "ops/matmul/matrix_gpu.h"
#include "ops/matmul/refill.wgsl.h"
#include "simd/orders.h"

namespace loom::gpu {
namespace {

constexpr std::size_t kSpanWords = 2;  // the scale and the zero point of a span, in scratch
constexpr std::size_t kLaneThreads = 256;
constexpr std::size_t kPieceElements = kLaneThreads / kLanes * kLaneBlock;  // of a span that workgroups share
constexpr std::size_t kSeenWords = 4;

std::uint32_t bits_of_float(double x) { return std::bit_cast<std::uint32_t>(static_cast<float>(x)); }

// Codes that are floats, by the bits of their parts.
struct FloatForm {
  DType dtype;
  unsigned exponent_bits, mantissa_bits, most;
};
constexpr FloatForm kFloatForms[] = {{DType::float16, 5, 10, 0x7bff},
                                     {DType::bfloat16, 8, 7, 0x7f7f},
                                     {DType::fp8e4m3, 4, 3, Fp8E4M3::kMax},
                                     {DType::fp8e5m2, 5, 2, Fp8E5M2::kMax},
                                     {DType::fp4, 2, 1, Fp4E2M1::kMax}};
const FloatForm* float_form(DType t) {
  const auto* const found = std::ranges::find(kFloatForms, t, &FloatForm::dtype);
  return found == std::end(kFloatForms) ? nullptr : found;
}

bool has_scale(DType t) { return code_rule(t).rule != ScaleRule::None; }

// Values of a matrix that are encoded, with the spans of their scales.
struct Source {
  DType dtype;
  ScaleSpan span;  // resolved
  const void* values;
  std::size_t rows, cols;

  bool is_grouped() const { return span.granularity == Granularity::Group; }
  std::size_t per_row() const {
    return span.granularity == Granularity::Tensor ? 0 : is_grouped() ? ceil_div(cols, span.group_size) : 1;
  }
  std::size_t spans() const { return std::max<std::size_t>(1, rows * per_row()); }
  std::size_t group_cols() const { return is_grouped() ? span.group_size : 0xffffffffu; }
};

// The kernel that estimates a scale: the rule's own text, then `body`.
Kernel scale_kernel(std::string_view name, std::string_view body, std::uint32_t threads, const Source& from) {
  const CodeRule& rule = code_rule(from.dtype);
  Kernel kernel(name, body, threads);
  kernel.reads("values", from.values)
      .fixed("rule", static_cast<std::size_t>(rule.rule))
      .fixed("top", bits_of_float(rule.high))
      .fixed("is_binary", from.dtype == DType::binary)
      .fixed("grouped", from.is_grouped())
      .fixed("dropped", from.is_grouped() ? dropped_scale_bits(from.dtype, from.span.group_size) : 0);
  return kernel;
}

// One span that many workgroups look through.
void estimate_whole(const Exec& exec, const Source& from, std::uint32_t* spans) {
  static const std::string piece_body = joined({wgsl::encode_scale, wgsl::encode_pieces});
  static const std::string whole_body = joined({wgsl::lanes, wgsl::encode_scale, wgsl::encode_whole});
  const std::size_t count = from.rows * from.cols, pieces = ceil_div(count, kPieceElements);
  auto* const seen = exec.arena.take<std::uint32_t>(pieces * kSeenWords);
  auto* const lanes = exec.arena.take<float>(pieces * kLaneThreads);
  Kernel piece = scale_kernel("encode_pieces", piece_body, kLaneThreads, from);
  piece.writes("seen", seen).writes("lanes", lanes).writes("spans", spans).number("count", count);
  exec.gpu()->record(exec, piece, pieces);
  Kernel whole = scale_kernel("encode_whole", whole_body, kLaneThreads, from);
  whole.reads("seen", seen).reads("lanes", lanes).writes("spans", spans).number("count", count);
  exec.gpu()->record(exec, whole.number("pieces", pieces), 1);
}

// The scale and the zero point of each span, row by row.
const std::uint32_t* estimate(const Exec& exec, const Source& from) {
  static const std::string group_body = joined({wgsl::encode_scale, wgsl::encode_groups});
  static const std::string row_body = joined({wgsl::lanes, wgsl::encode_scale, wgsl::encode_rows});
  if (!has_scale(from.dtype)) return nullptr;
  const std::size_t count = from.spans(), each = from.rows * from.cols / count;
  auto* const spans = exec.arena.take<std::uint32_t>(count * kSpanWords);
  if (from.is_grouped()) {
    Kernel kernel = scale_kernel("encode_groups", group_body, Kernel::kThreads, from);
    kernel.writes("spans", spans).number("spans", count).number("per_row", from.per_row());
    kernel.number("cols", from.cols).number("group_cols", from.group_cols());
    exec.gpu()->record(exec, kernel, ceil_div(count, Kernel::kThreads));
  } else if (from.per_row() == 0 && each > kPieceElements) {
    estimate_whole(exec, from, spans);
  } else {
    Kernel kernel = scale_kernel("encode_rows", row_body, kLaneThreads, from);
    exec.gpu()->record(exec, kernel.writes("spans", spans).number("count", each), count);
  }
  return spans;
}

// Adds the arguments of a kernel that encodes; `spans` as estimate() writes them.
void add_codes(Kernel& kernel, const Source& from, const void* spans) {
  const CodeRule& rule = code_rule(from.dtype);
  kernel.reads("spans", spans == nullptr ? from.values : spans)
      .number("per_row", from.per_row())
      .number("group_cols", from.group_cols())
      .fixed("has_scales", has_scale(from.dtype))
      .fixed("has_zeros", rule.rule == ScaleRule::Asymmetric)
      .fixed("is_binary", from.dtype == DType::binary);
  const FloatForm* const form = float_form(from.dtype);
  if (form == nullptr) {
    kernel.fixed("low", static_cast<std::uint32_t>(static_cast<std::int32_t>(rule.low)))
        .fixed("high", static_cast<std::uint32_t>(static_cast<std::int32_t>(rule.high)));
    return;
  }
  const unsigned lowest = 127u + 2u - (1u << (form->exponent_bits - 1));  // of normal exponents, as an f32 has it
  kernel.fixed("mantissa_bits", form->mantissa_bits)
      .fixed("sign_bit", std::size_t{1} << (form->exponent_bits + form->mantissa_bits))
      .fixed("most", form->most)
      .fixed("least_normal", lowest << 23)
      .fixed("unit_base", (lowest + 23u - form->mantissa_bits) << 23)
      .fixed("exponent_offset", (lowest - 1u) << form->mantissa_bits);
}

std::string_view panel_body(bool are_floats, bool holds_codes) {
  const auto body = [](std::string_view codes, std::string_view words) {
    return joined({wgsl::encode_spans, codes, words, wgsl::encode_panels});
  };
  static const std::string floats = body(wgsl::encode_floats, wgsl::encode_elements),
                           numbers = body(wgsl::encode_numbers, wgsl::encode_codes),
                           fp4 = body(wgsl::encode_floats, wgsl::encode_codes);
  LOOM_ASSERT(are_floats || holds_codes);
  return !are_floats ? numbers : holds_codes ? fp4 : floats;
}

// How the words of a panel are made of codes.
void add_words(Kernel& kernel, const Matrix& m) {
  const PanelLayout& layout = m.layout();
  const PanelTraits& kind = traits(layout.kind);
  const int lowered = layout.kind == PanelKind::RowBytes && layout.has_zeros ? 128 : 0;
  const std::size_t bits = kind.holds_codes() ? kind.code_bits : 8u * kind.element_bytes;
  const int offset = kind.holds_codes() ? layout.code_offset - lowered : 0;
  kernel.fixed("offset", static_cast<std::uint32_t>(offset))
      .fixed("mask", (std::size_t{1} << bits) - 1)
      .fixed("lowered", static_cast<std::size_t>(lowered))
      .fixed("row_scaled", layout.has_row_scales());
  if (!kind.holds_codes()) return void(kernel.fixed("element_bytes", kind.element_bytes));
  kernel.fixed("bits", bits)
      .fixed("share", layout.input_blocks())
      .fixed("factor_words", layout.factor_bytes() / 4)
      .number("blocks", ceil_div(m.cols(), kBlockCols));
}

// Encodes one of the matrices from the values of `from`; spans are its own.
void encode_panels(const Exec& exec, const Matrix& m, const Source& from, const void* spans) {
  const PanelLayout& layout = m.layout();
  const std::size_t padded = m.panels() * kPanelRows;
  const std::byte* const weight = place_written_panels(exec, m);
  const auto place = [&](const void* factors) {
    return factors == nullptr ? weight : place_weight(exec, m, factors, padded * 4);
  };
  const std::byte *const scales = place(m.row_scales()), *const zeros = place(m.row_zeros());
  if (weight == nullptr || scales == nullptr || zeros == nullptr) return;
  Kernel kernel("encode_panels", panel_body(float_form(from.dtype) != nullptr, traits(layout.kind).holds_codes()));
  kernel.reads("values", from.values)
      .writes("weight", const_cast<std::byte*>(weight))
      .writes("row_scales", const_cast<std::byte*>(scales))
      .writes("row_zeros", const_cast<std::byte*>(zeros))
      .number("rows", m.rows())
      .number("cols", m.cols())
      .number("panels", m.panels())
      .number("panel_words", m.panel_bytes() / 4);
  add_codes(kernel, from, spans);
  add_words(kernel, m);
  const std::size_t row_words = !layout.has_row_scales() ? 0 : layout.has_zeros ? 2 * padded : padded;
  exec.gpu()->record(exec, kernel, ceil_div(m.panels() * m.panel_bytes() / 4 + row_words, Kernel::kThreads));
}

void refill_floats(const Exec& exec, const Matrix& m, const void* values) {
  const std::byte* const at = place_written_panels(exec, m);
  if (at == nullptr) return;
  const std::size_t elements = m.panels() * kPanelRows * m.cols();
  exec.gpu()->record(exec,
                     Kernel("refill", wgsl::refill)
                         .reads("values", values)
                         .writes("weight", const_cast<std::byte*>(at))
                         .number("elements", elements)
                         .number("rows", m.rows())
                         .number("cols", m.cols())
                         .number("panel_words", m.panel_bytes() / 4),
                     ceil_div(elements, Kernel::kThreads));
}

}  // namespace

bool encodes(DType dtype) {
  if (is_block_format(dtype)) return false;
  return float_form(dtype) != nullptr || info(dtype).compute == ComputeClass::Int;
}

void refill(const Exec& exec, MatrixParts parts, const ScaleSpan& span, const void* values) {
  const ArenaScope scope(exec.arena);
  const Matrix& first = *parts[0];
  const bool are_floats = first.dtype() == DType::float32;
  LOOM_ASSERT(are_floats || encodes(first.dtype()));
  Source from{first.dtype(), resolved(first.dtype(), span), values, first.rows() * parts.size(), first.cols()};
  const std::uint32_t* spans = are_floats ? nullptr : estimate(exec, from);
  if (exec.rehearsal()) return;
  from.rows = first.rows();
  for (const auto& part : parts) {
    are_floats ? refill_floats(exec, *part, from.values) : encode_panels(exec, *part, from, spans);
    from.values = static_cast<const float*>(from.values) + part->rows() * part->cols();
    if (spans != nullptr) spans += part->rows() * from.per_row() * kSpanWords;
  }
}

void requantize(const Exec& exec, const QuantizedMatrix& like, const void* values, void* y) {
  static const std::string floats = joined({wgsl::encode_spans, wgsl::encode_floats, wgsl::encode_values});
  static const std::string numbers = joined({wgsl::encode_spans, wgsl::encode_numbers, wgsl::encode_values});
  const ArenaScope scope(exec.arena);
  const Source from{like.dtype, like.span, values, like.rows, like.cols};
  const std::size_t count = like.rows * like.cols;
  const std::uint32_t* const spans = estimate(exec, from);
  Kernel kernel("encode_values", float_form(like.dtype) != nullptr ? floats : numbers);
  kernel.reads("values", values).writes("y", y).number("elements", count).number("cols", like.cols);
  add_codes(kernel, from, spans);
  exec.gpu()->record(exec, kernel, ceil_div(count, Kernel::kThreads));
}

}  // namespace loom::gpu
