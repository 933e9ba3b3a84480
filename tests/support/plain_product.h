#pragma once
// The meaning of every type in plain loops over its codes, scales and zero points (engine D-30 to D-35): what
// simulate_precision() is in the specification. These loops know no panels, lanes or kernels.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "backend/exec.h"
#include "dtypes/float16.h"
#include "dtypes/quantize.h"
#include "dtypes/small_float.h"

namespace loom::test {

// A matrix as plain numbers: values of codes less their zero points, and the scale of each.
struct PlainMatrix {
  ComputeClass compute = ComputeClass::F32;
  ScaleSpan span;
  std::size_t rows = 0, cols = 0;
  std::vector<double> numbers, scales;  // [rows, cols]

  double number(std::size_t row, std::size_t col) const { return numbers[row * cols + col]; }
  double scale(std::size_t row, std::size_t col) const { return scales[row * cols + col]; }
};

inline double number_of_code(const QuantizedMatrix& q, std::size_t i) {
  const std::int64_t c = q.code(i);
  switch (q.dtype) {
    case DType::float64: return std::bit_cast<double>(c);
    case DType::float32: return std::bit_cast<float>(static_cast<std::uint32_t>(c));
    case DType::float16: return float16_to_float(static_cast<std::uint16_t>(c));
    case DType::bfloat16: return bfloat16_to_float(static_cast<std::uint16_t>(c));
    case DType::fp8e4m3: return Fp8E4M3::decode(static_cast<std::uint8_t>(c));
    case DType::fp8e5m2: return Fp8E5M2::decode(static_cast<std::uint8_t>(c));
    case DType::fp4: return Fp4E2M1::decode(static_cast<std::uint8_t>(c));
    default:
      return static_cast<double>(c - (q.zero_points.empty() ? 0 : q.zero_points[q.span_of(i / q.cols, i % q.cols)]));
  }
}

inline PlainMatrix plain_matrix(const QuantizedMatrix& q) {
  PlainMatrix m{info(q.dtype).compute, q.span, q.rows, q.cols, {}, {}};
  for (std::size_t i = 0; i < q.rows * q.cols; ++i) {
    m.numbers.push_back(number_of_code(q, i));
    m.scales.push_back(q.scales.empty() ? 1.0 : q.scales[q.span_of(i / q.cols, i % q.cols)]);
  }
  return m;
}

// Blocks of `block` terms, each from +0, added ascending.
template <class T, class Term>
T plain_chain(std::size_t n, std::size_t block, Term term, const std::vector<T>& scales = {}) {
  T total = 0;
  for (std::size_t b = 0; b < n; b += block) {
    T sum = 0;
    for (std::size_t i = b; i < std::min(n, b + block); ++i) sum = sum + term(i);
    total = total + (scales.empty() ? sum : sum * scales[b / block]);
  }
  return total;
}

// Inputs meet a weight of an INT type in one of these ways: as `activations` says, with scales in the spans of the
// weights' own, or in int8 with one scale per row or per group of columns. The largest size of a whole row counts as at
// least `floor`.
struct InputWay {
  Activations activations = Activations::int8;
  PanelScales scales = PanelScales::None;
  float floor = 0;
};

// Codes of n inputs that share a scale.
struct PlainCodes {
  std::vector<std::int64_t> q;
  float scale = 0;
};
inline PlainCodes plain_codes(const float* x, std::size_t n, float top, float floor = 0) {
  const auto nearest_even = [](float v) { return (v + 12582912.0f) - 12582912.0f; };
  float largest = floor;
  for (std::size_t i = 0; i < n; ++i) largest = std::max(largest, std::abs(x[i]));
  PlainCodes r{std::vector<std::int64_t>(n), largest == 0 ? 0.0f : largest / top};
  const float inverse = largest == 0 ? 0.0f : top / largest;
  for (std::size_t i = 0; i < n; ++i)
    r.q[i] = static_cast<std::int64_t>(nearest_even(std::clamp(x[i] * inverse, -top, top)));
  return r;
}

// Outputs [first, last) for one row of inputs, before the bias, snapped.
inline std::vector<float> plain_integer_product(const PlainMatrix& m, std::size_t first, std::size_t last,
                                                const float* x, const InputWay& way) {
  const std::size_t n = m.cols;
  const bool grouped = m.span.granularity == Granularity::Group,
             groups_inputs = way.scales == PanelScales::None ? grouped : way.scales == PanelScales::ByGroup;
  const std::size_t span = grouped ? m.span.group_size : groups_inputs ? 32 : n;
  const float top =
      grouped && way.scales == PanelScales::None && way.activations == Activations::int16 ? 32512.0f : 127.0f;
  const PlainCodes row = plain_codes(x, n, top, way.floor);
  std::vector<PlainCodes> groups;
  for (std::size_t b = 0; groups_inputs && b < n; b += span)
    groups.push_back(plain_codes(x + b, std::min(span, n - b), top));
  std::vector<float> y;
  for (std::size_t o = first; o < last; ++o) {
    float total = 0;
    for (std::size_t b = 0; b < n; b += span) {
      const std::int64_t* const q = groups_inputs ? groups[b / span].q.data() : row.q.data() + b;
      std::int64_t sum = 0;
      for (std::size_t i = 0; i < std::min(span, n - b); ++i)
        sum += static_cast<std::int64_t>(m.number(o, b + i)) * q[i];
      // One scale per row multiplies the total of groups, and the one sum that there is where the weight has no groups.
      const float sx = groups_inputs ? groups[b / span].scale : grouped ? 1.0f : row.scale;
      total = total + static_cast<float>(sum) * (static_cast<float>(m.scale(o, b)) * sx);
    }
    y.push_back(snapped(grouped && !groups_inputs ? total * row.scale : total));
  }
  return y;
}

inline std::vector<float> plain_product(const PlainMatrix& m, std::size_t first, std::size_t last, const float* x,
                                        const InputWay& way) {
  if (m.compute == ComputeClass::Int) return plain_integer_product(m, first, last, x, way);
  std::vector<float> y;
  for (std::size_t o = first; o < last; ++o) {
    const auto f32_term = [&](std::size_t i) { return static_cast<float>(m.number(o, i)) * x[i]; };
    const auto f64_term = [&](std::size_t i) { return m.number(o, i) * static_cast<double>(x[i]); };
    if (m.compute != ComputeClass::F32) {
      y.push_back(snapped(static_cast<float>(plain_chain<double>(m.cols, 64, f64_term) * m.scale(o, 0))));
    } else if (m.span.granularity != Granularity::Group) {
      y.push_back(snapped(plain_chain<float>(m.cols, 64, f32_term) * static_cast<float>(m.scale(o, 0))));
    } else {
      std::vector<float> scales;
      for (std::size_t i = 0; i < m.cols; i += m.span.group_size) scales.push_back(static_cast<float>(m.scale(o, i)));
      y.push_back(snapped(plain_chain<float>(m.cols, m.span.group_size, f32_term, scales)));
    }
  }
  return y;
}

// Spans of scales that a type has kernels for, the one of the table of types first.
inline std::vector<ScaleSpan> spans_of(DType dtype) {
  std::vector<ScaleSpan> spans = {{}};
  const bool is_int = info(dtype).compute == ComputeClass::Int;
  if (is_int || dtype == DType::fp4)
    for (const std::size_t group : {32, 64, 128}) spans.push_back({Granularity::Group, group});
  const bool has_scales = traits(info(dtype).panel.kind).scales != PanelScales::None;
  if (has_scales && dtype != DType::fp4) spans.insert(spans.end(), {{Granularity::Row}, {Granularity::Tensor}});
  return spans;
}

}  // namespace loom::test
