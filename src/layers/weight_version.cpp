#include "layers/weight_version.h"

#include <utility>

#include "dtypes/scales.h"
#include "dtypes/whole_scale.h"

namespace loom {
namespace {

// Returns rows [first, first + count) of a quantised matrix.
QuantizedMatrix rows_of(const QuantizedMatrix& q, std::size_t first, std::size_t count) {
  QuantizedMatrix part;
  part.dtype = q.dtype, part.rows = count, part.cols = q.cols, part.span = q.span;
  const auto cut = [&](auto& to, const auto& from, std::size_t per_row) {
    if (!from.empty())
      to.assign(from.begin() + static_cast<std::ptrdiff_t>(first * per_row),
                from.begin() + static_cast<std::ptrdiff_t>((first + count) * per_row));
  };
  cut(part.codes, q.codes, q.cols * q.code_bytes());
  if (q.spans_per_row() == 0) {
    part.scales = q.scales, part.zero_points = q.zero_points;
  } else {
    cut(part.scales, q.scales, q.spans_per_row());
    cut(part.zero_points, q.zero_points, q.spans_per_row());
  }
  return part;
}

// Decodes block formats whose inputs stay as they are to floats (engine D-26).
Result<Matrix> with_float_inputs(Result<Matrix> m, ActivationQuant quant) {
  if (!m || quant != ActivationQuant::None || !is_block_format(m->dtype())) return m;
  std::vector<float> values(m->rows() * m->cols());
  for (std::size_t r = 0; r < m->rows(); ++r) m->decode_row(r, values.data() + r * m->cols());
  return Matrix::from_floats(DType::float32, values, m->rows(), m->cols());
}

PanelScales input_scales(ActivationQuant quant) {
  return quant == ActivationQuant::Row     ? PanelScales::ByRow
         : quant == ActivationQuant::Group ? PanelScales::ByGroup
                                           : PanelScales::None;
}

void add_part(WeightVersion& version, Matrix matrix) {
  auto part = std::make_shared<Matrix>(std::move(matrix));
  version.own.push_back(part.get());
  version.parts.push_back(std::move(part));
}

Result<void> pack(WeightVersion& version, Result<Matrix> matrix, ActivationQuant quant) {
  if (!matrix) return tl::make_unexpected(std::move(matrix).error());
  if (matrix->layout().quantises_input()) matrix->set_input_scales(input_scales(quant));
  add_part(version, std::move(*matrix));
  return {};
}

Result<VersionPtr> panels_of(const WeightForm& form, const Encoding& e, std::span<const float> values,
                             std::span<const double> wide) {
  auto version = std::make_shared<WeightVersion>();
  version->encoding = e;
  const std::size_t part_rows = form.rows() / form.parts, part_size = part_rows * form.cols();
  for (std::size_t p = 0; p < form.parts; ++p) {
    auto part = e.dtype == DType::float64
                    ? Matrix::from_source(DType::float64, std::as_bytes(wide.subspan(p * part_size, part_size)),
                                          part_rows, form.cols())
                    : Matrix::from_floats(e.dtype, values.subspan(p * part_size, part_size), part_rows, form.cols());
    LOOM_TRY_VOID(pack(*version, with_float_inputs(std::move(part), e.activation_quant), e.activation_quant));
  }
  return version;
}

}  // namespace

std::size_t WeightVersion::bytes() const {
  std::size_t bytes = decoded.size() * sizeof(float) + decoded64.size() * sizeof(double);
  for (const MatrixPtr& part : parts) bytes += part->resident_bytes();
  if (codes) bytes += codes->codes.size() + codes->scales.size() * sizeof(double);
  return bytes;
}

Result<VersionPtr> encode_version(const WeightForm& form, const Encoding& e, std::span<const float> master,
                                  std::span<const double> master64, const QuantizedMatrix* like) {
  std::vector<float> narrow;
  if (master.empty()) {
    narrow.resize(master64.size());
    std::ranges::transform(master64, narrow.begin(), [](double v) { return snapped_to(static_cast<float>(v)); });
  }
  const std::span<const float> values = master.empty() ? narrow : master;
  const bool is_matrix = form.role == WeightRole::Matrix;
  const bool has_codes =
      is_matrix ? e.dtype != DType::float64 && e.dtype != DType::float32 && !is_block_format(e.dtype)
                : form.role == WeightRole::TypedVector && e.dtype != DType::float64 && e.dtype != DType::float32;
  if (has_codes) {
    LOOM_TRY(const QuantizedMatrix q, like != nullptr ? quantize_like(*like, values)
                                      : is_matrix     ? quantize(e.dtype, values, form.rows(), form.cols(), e.span)
                                                  : quantize(e.dtype, values, 1, values.size(), {Granularity::Tensor}));
    return version_of_codes(form, e, q);
  }
  std::vector<double> wide;
  if (e.dtype == DType::float64)
    master64.empty() ? wide.assign(master.begin(), master.end()) : wide.assign(master64.begin(), master64.end());
  if (is_matrix) return panels_of(form, e, values, wide);
  auto version = std::make_shared<WeightVersion>();
  version->encoding = e;
  if (e.dtype == DType::float64)
    version->decoded64 = std::move(wide);
  else
    version->decoded.assign(values.begin(), values.end());
  return version;
}

Result<VersionPtr> version_of_codes(const WeightForm& form, const Encoding& e, const QuantizedMatrix& q) {
  auto version = std::make_shared<WeightVersion>();
  version->encoding = e;
  if (form.role != WeightRole::Matrix) {
    version->decoded = dequantize(q);
    version->codes = q;
    return version;
  }
  const std::size_t part_rows = form.rows() / form.parts, part_size = part_rows * form.cols();
  std::vector<float> decoded;
  if (e.activation_quant == ActivationQuant::None) {
    decoded = dequantize(q);
    version->codes = q;
  }
  for (std::size_t p = 0; p < form.parts; ++p) {
    auto part = decoded.empty() ? Matrix::from_quantized(rows_of(q, p * part_rows, part_rows))
                                : Matrix::from_floats(DType::float32,
                                                      std::span<const float>(decoded).subspan(p * part_size, part_size),
                                                      part_rows, form.cols());
    LOOM_TRY_VOID(pack(*version, std::move(part), e.activation_quant));
  }
  return version;
}

Result<VersionPtr> version_of_zeros(const WeightForm& form) {
  auto version = std::make_shared<WeightVersion>();
  for (std::size_t p = 0; p < form.parts; ++p) {
    LOOM_TRY(Matrix part, Matrix::zeros(DType::float32, form.rows() / form.parts, form.cols()));
    add_part(*version, std::move(part));
  }
  return version;
}

Result<QuantizedMatrix> codes_of(const WeightForm& form, const Encoding& encoding, const WeightVersion& version) {
  const DType dtype = encoding.dtype;
  if (version.codes) return *version.codes;
  if (form.role != WeightRole::Matrix) {
    const bool is_wide = !version.decoded64.empty();
    QuantizedMatrix q;
    q.dtype = is_wide ? DType::float64 : DType::float32, q.rows = form.rows(), q.cols = form.cols(),
    q.span = {Granularity::Tensor};
    const auto bytes =
        is_wide ? std::as_bytes(std::span(version.decoded64)) : std::as_bytes(std::span(version.decoded));
    q.codes.assign(bytes.begin(), bytes.end());
    return q;
  }
  if (is_block_format(dtype))
    return fail(Code::Unsupported, "{}: {} blocks are not kept as they stood in their file", form.name, name(dtype));
  LOOM_TRY(QuantizedMatrix all, version.parts[0]->to_quantized());
  for (std::size_t p = 1; p < form.parts; ++p) {
    LOOM_TRY(const QuantizedMatrix part, version.parts[p]->to_quantized());
    all.codes.insert(all.codes.end(), part.codes.begin(), part.codes.end());
    all.scales.insert(all.scales.end(), part.scales.begin(), part.scales.end());
    all.zero_points.insert(all.zero_points.end(), part.zero_points.begin(), part.zero_points.end());
  }
  all.rows = form.rows();
  if (resolved(dtype, encoding.span).granularity == Granularity::Tensor && !all.scales.empty()) {
    all.span.granularity = Granularity::Tensor;
    all.scales.resize(1);
    if (!all.zero_points.empty()) all.zero_points.resize(1);
  }
  return all;
}

bool has_scales(const WeightForm& form, DType dtype) {
  return form.is_typed() && !is_block_format(dtype) && traits(info(dtype).panel.kind).scales != PanelScales::None;
}

bool has_layout_of(const WeightVersion& version, const Encoding& e) {
  if (e.dtype == DType::float64 || is_block_format(e.dtype)) return false;
  const PanelLayout layout = panel_layout(e.dtype, e.span);
  return !version.own.empty() && std::ranges::all_of(version.own, [&](const Matrix* part) {
    return part->dtype() == e.dtype && part->layout().kind == layout.kind && part->layout().sub_cols == layout.sub_cols;
  });
}

void fill_panels(std::span<Matrix* const> parts, const Encoding& e, std::span<const float> values, ThreadPool* pool) {
  const std::size_t cols = parts[0]->cols(), part_size = parts[0]->rows() * cols;
  QuantizedMatrix row;
  row.dtype = e.dtype, row.rows = 1, row.cols = cols, row.span = resolved(e.dtype, e.span);
  if (row.span.granularity == Granularity::Tensor) {
    row.rows = values.size() / cols;
    pool != nullptr ? estimate_scales(row, values, *pool) : estimate_scales(row, values);
    row.rows = 1;
  }
  for (std::size_t p = 0; p < parts.size(); ++p) {
    Matrix& matrix = *parts[p];
    in_shares(pool, matrix.panels(), part_size, [&](std::size_t begin, std::size_t end) {
      QuantizedMatrix own = row;
      matrix.refill(values.subspan(p * part_size, part_size), begin, end, own);
    });
  }
}

void encode_values(QuantizedMatrix& codes, std::span<const float> values, std::span<float> decoded) {
  estimate_scales(codes, values);
  encode(codes, values);
  std::ranges::copy(dequantize(codes), decoded.begin());
}

namespace {

std::size_t bytes_of_panels(const PanelLayout& layout, std::size_t rows, std::size_t cols) {
  const std::size_t panels = (rows + kPanelRows - 1) / kPanelRows;
  const bool is_wide =
      layout.kind == PanelKind::Wide16 || layout.kind == PanelKind::Wide32 || layout.kind == PanelKind::Wide64;
  const std::size_t factors = layout.has_row_scales() ? (layout.has_zeros ? 2 : 1) * (is_wide ? 8 : 4) : 0;
  return panels * (layout.panel_bytes(cols) + kPanelRows * factors);
}

}  // namespace

std::size_t bytes_to_come(const WeightForm& form, const Encoding& e) {
  const bool is_matrix = form.role == WeightRole::Matrix;
  if (!is_matrix && e.dtype == DType::float64) return form.elements() * sizeof(double);
  const bool is_plain = e.dtype == DType::float32 || !form.is_typed();
  std::size_t bytes = is_matrix ? 0 : form.elements() * sizeof(float);  // vectors are kept decoded
  const bool decodes =
      is_matrix && e.activation_quant == ActivationQuant::None && e.dtype != DType::float64 && !is_plain;
  if (is_matrix) {
    const PanelLayout layout = decodes ? panel_layout(DType::float32) : panel_layout(e.dtype, e.span);
    bytes += form.parts * bytes_of_panels(layout, form.rows() / form.parts, form.cols());
  }
  // and their codes beside
  if ((decodes && !is_block_format(e.dtype)) || (form.role == WeightRole::TypedVector && !is_plain)) {
    QuantizedMatrix q;
    q.dtype = e.dtype, q.rows = form.rows(), q.cols = form.cols(),
    q.span = resolved(e.dtype, is_matrix ? e.span : ScaleSpan{Granularity::Tensor});
    const bool is_scaled = e.dtype != DType::float16 && e.dtype != DType::bfloat16;
    bytes += form.elements() * q.code_bytes() +
             (is_scaled ? std::max<std::size_t>(1, q.rows * q.spans_per_row()) * sizeof(double) : 0);
  }
  return bytes;
}

}  // namespace loom
