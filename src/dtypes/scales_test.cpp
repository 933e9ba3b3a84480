#include "dtypes/scales.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "core/weight_memory.h"
#include "dtypes/block_formats.h"
#include "dtypes/matrix.h"
#include "dtypes/packing.h"

namespace loom {
namespace {

constexpr float kMax = std::numeric_limits<float>::max();

// Two rows of 64 codes, all but one of them 0, or of the code next to it where the type has no 0.
QuantizedMatrix matrix_with(DType t, std::int64_t code, double scale, ScaleSpan span = {}) {
  QuantizedMatrix q;
  q.dtype = t, q.rows = 2, q.cols = 64, q.span = resolved(t, span);
  q.codes.assign(128 * q.code_bytes(), std::byte{});
  if (t == DType::binary) std::ranges::fill(q.codes, std::byte{1});
  const std::size_t at = (64 + 40) * q.code_bytes();
  for (std::size_t b = 0; b < q.code_bytes(); ++b) q.codes[at + b] = static_cast<std::byte>(code >> 8 * b & 255);
  const std::size_t spans = span_count(t, q.rows, q.cols, q.span).value();
  q.scales.assign(spans, 1.0);
  q.scales.back() = scale;
  if (has_zero_points(t)) q.zero_points.assign(spans, 0);
  return q;
}

Code code_of(const QuantizedMatrix& q) {
  const auto m = Matrix::from_quantized(q);
  return m ? Code{} : m.error().code;
}

TEST(Scales, a_code_times_its_scale_is_finite_in_every_type) {  // D-08
  struct Row {
    DType dtype;
    std::int64_t code;
    double value;
  };
  for (const Row& row : {Row{DType::int8, -127, 127}, Row{DType::uint8, 255, 255}, Row{DType::int16, -32768, 32768},
                         Row{DType::uint16, 65535, 65535}, Row{DType::int32, 2147483647, 2147483647.0},
                         Row{DType::uint32, 4294967295, 4294967295.0}, Row{DType::int64, 1ll << 53, 0x1p53},
                         Row{DType::uint64, 1ll << 53, 0x1p53}, Row{DType::int4, -7, 7}, Row{DType::uint4, 15, 15},
                         Row{DType::int2, -2, 2}, Row{DType::uint2, 3, 3}, Row{DType::fp8e4m3, 0x7e, 448},
                         Row{DType::fp8e5m2, 0x7b, 57344}, Row{DType::fp4, 7, 6}}) {
    for (const double size : {2.0, 0.5}) {
      const double scale = static_cast<double>(static_cast<float>(static_cast<double>(kMax) / row.value * size));
      EXPECT_EQ(code_of(matrix_with(row.dtype, row.code, scale)), size > 1 ? Code::NonFinite : Code{})
          << name(row.dtype) << " " << scale;
      EXPECT_EQ(code_of(matrix_with(row.dtype, row.code, -scale)), size > 1 ? Code::NonFinite : Code{})
          << name(row.dtype) << " " << -scale;
    }
    for (const double bad : {std::numeric_limits<double>::infinity(), std::nan("")})
      EXPECT_EQ(code_of(matrix_with(row.dtype, 0, bad)), Code::NonFinite) << name(row.dtype) << " " << bad;
  }
  // Codes that do not occur do not count, nor do those of other spans.
  EXPECT_EQ(code_of(matrix_with(DType::int8, 1, 3e38)), Code{});
  EXPECT_EQ(code_of(matrix_with(DType::int8, 2, 3e38)), Code::NonFinite);
  EXPECT_EQ(code_of(matrix_with(DType::ternary, 1, 3e38)), Code{});
  EXPECT_EQ(code_of(matrix_with(DType::binary, -1, 3e38)), Code{});
  QuantizedMatrix other = matrix_with(DType::int8, 2, 3e38);
  std::swap(other.scales[0], other.scales[1]);
  EXPECT_EQ(code_of(other), Code{});
  // The zero point that is subtracted from a code counts.
  QuantizedMatrix shifted = matrix_with(DType::uint8, 0, 3e36);
  EXPECT_EQ(code_of(shifted), Code{});
  shifted.zero_points.assign(2, 200);
  EXPECT_EQ(code_of(shifted), Code::NonFinite);
}

TEST(Scales, codes_of_fp8_are_finite) {  // D-08
  for (const DType t : {DType::fp8e4m3, DType::fp8e5m2})
    for (int code = 0; code < 256; ++code) {
      const bool finite = t == DType::fp8e4m3 ? (code & 0x7f) != 0x7f : (code & 0x7c) != 0x7c;
      EXPECT_EQ(code_of(matrix_with(t, code, 1)), finite ? Code{} : Code::NonFinite) << name(t) << " " << code;
    }
}

TEST(Scales, scales_of_groups_are_0_or_at_least_2_to_the_minus_24) {  // D-08
  for (const DType t : {DType::int4, DType::uint4, DType::fp4, DType::int2, DType::uint2, DType::int8, DType::uint8,
                        DType::ternary, DType::binary}) {
    const ScaleSpan groups{Granularity::Group, 32}, rows{Granularity::Row};
    for (const double good : {0.0, 0x1p-24, -0x1p-24, 1.0})
      EXPECT_EQ(code_of(matrix_with(t, 1, good, groups)), Code{}) << name(t) << " " << good;
    for (const double bad : {0x1.fffffep-25, -0x1p-25, 1e-30, 1e-42})
      EXPECT_EQ(code_of(matrix_with(t, 1, bad, groups)), Code::CorruptData) << name(t) << " " << bad;
    // A sum of a whole row is scaled after its end.
    if (t != DType::fp4) {
      EXPECT_EQ(code_of(matrix_with(t, 1, 0x1p-25, rows)), Code{}) << name(t);
    }
  }
}

// Whatever floats are encoded, the scales are in range.
TEST(Scales, encoders_keep_to_them) {  // D-05, D-08
  for (const float largest : {kMax, 0x1p126f, 1.0f, 0x1p-30f, 0x1p-51f}) {
    std::vector<float> w(256);
    for (std::size_t i = 0; i < w.size(); ++i)
      w[i] = largest * (i % 7 < 3 ? -1.0f : 1.0f) / static_cast<float>(1 + i % 5);
    for (std::size_t t = 0; t < kNumTypes; ++t)
      for (const ScaleSpan span : {ScaleSpan{}, ScaleSpan{Granularity::Group, 64}, ScaleSpan{Granularity::Row}}) {
        const auto q = quantize(static_cast<DType>(t), w, 2, 128, span);
        ASSERT_TRUE(q);
        const auto good = check_scales(*q);
        EXPECT_TRUE(good) << name(q->dtype) << " of " << largest << ": " << good.error().text();
      }
  }
}

TEST(Scales, mxfp4_blocks_with_infinite_weights_are_refused) {  // D-26, D-08
  std::vector<std::byte> block(17, std::byte{0x77});            // 6 times the scale
  for (int exponent = 0; exponent < 256; ++exponent) {
    block[0] = static_cast<std::byte>(exponent);
    const auto m = Matrix::from_source(DType::mxfp4, block, 1, 32);
    // 6 * 2^(exponent - 127) is below 2^128 up to 252.
    ASSERT_EQ(m.has_value(), exponent <= 252) << exponent;
    if (!m) {
      EXPECT_EQ(m.error().code, Code::NonFinite);
      continue;
    }
    std::vector<float> row(32);
    m->decode_row(0, row.data());
    for (const float v : row) EXPECT_TRUE(std::isfinite(v)) << exponent;
  }
}

// Whole panels, the last one short, and rows of an odd length.
TEST(Matrix, large_weights_are_distributed_over_memory_nodes) {
  const auto pieces = [] {
    const WeightPieces all = weight_pieces();
    return all.interleaved + all.refused + all.local;
  };
  const std::size_t before = pieces();
  ASSERT_TRUE(Matrix::zeros(DType::float32, 1024, 1024));
  EXPECT_EQ(pieces(), before + 1);
  ASSERT_TRUE(PanelPool::create(std::size_t{4} << 20));
  EXPECT_EQ(pieces(), before + 2);
  ASSERT_TRUE(Matrix::zeros(DType::float32, 64, 64));
  ASSERT_TRUE(Buffer::create(std::size_t{4} << 20));
  EXPECT_EQ(pieces(), before + 2);
}

TEST(Matrix, decode_panel_gives_the_rows) {  // D-05
  constexpr std::size_t kRows = 37, kCols = 203;
  std::vector<float> w(kRows * kCols);
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(i * 7919 % 1009) * 0.01f - 5.0f;
  for (std::size_t t = 0; t < kNumTypes; ++t) {
    const Matrix m = Matrix::from_floats(static_cast<DType>(t), w, kRows, kCols).value();
    std::vector<float> rows(w.size()), panels(w.size());
    for (std::size_t r = 0; r < kRows; ++r) m.decode_row(r, rows.data() + r * kCols);
    for (std::size_t p = 0; p < m.panels(); ++p) m.decode_panel(p, panels.data() + p * kPanelRows * kCols);
    EXPECT_EQ(rows, panels) << name(static_cast<DType>(t));
  }
}

}  // namespace
}  // namespace loom
