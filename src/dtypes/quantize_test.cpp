#include "dtypes/quantize.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "dtypes/float16.h"
#include "dtypes/golden_test.h"
#include "dtypes/small_float.h"
#include "simd/orders.h"

namespace loom {
namespace {

// Roughly normal: the sum of four uniform numbers.
std::vector<float> normal(std::uint64_t seed, std::size_t n, float size = 1.0f) {
  std::vector<float> w(n);
  for (std::size_t i = 0; i < n; ++i) {
    float x = -2.0f;
    for (std::uint64_t k = 0; k < 4; ++k) x += static_cast<float>(splitmix(seed, 4 * i + k) >> 40) * 0x1p-24f;
    w[i] = x * size;
  }
  return w;
}

std::vector<std::int64_t> codes_of(const QuantizedMatrix& q) {
  std::vector<std::int64_t> codes;
  for (std::size_t i = 0; i < q.rows * q.cols; ++i) codes.push_back(q.code(i));
  return codes;
}

TEST(Quantize, stored_scales_reproduce_codes) {  // D-03
  for (std::size_t t = 0; t < kNumTypes; ++t)
    for (const ScaleSpan& span : spans())
      for (const float size : {1.0f, 1e-3f, 1e-12f, 1e30f}) {
        const DType dtype = kDTypes[t].dtype;
        const auto q = quantize(dtype, normal(t, 7 * 150, size), 7, 150, span);
        ASSERT_TRUE(q);
        const auto values = dequantize(*q);
        const auto again = quantize_like(*q, values);
        ASSERT_TRUE(again);
        if (kDTypes[t].bits <= 16 || kDTypes[t].compute != ComputeClass::Wide) {
          EXPECT_EQ(codes_of(*again), codes_of(*q)) << name(dtype) << " " << size;
        }
        EXPECT_EQ(dequantize(*again), values) << name(dtype) << " " << size;
      }
}

TEST(Quantize, new_scales_reproduce_codes_values_or_steps) {  // D-03
  for (std::size_t t = 0; t < kNumTypes; ++t)
    for (const ScaleSpan& span : spans()) {
      const DType dtype = kDTypes[t].dtype;
      const auto q = quantize(dtype, normal(100 + t, 7 * 150), 7, 150, span);
      const auto values = dequantize(*q);
      const auto again = quantize(dtype, values, 7, 150, span);
      ASSERT_TRUE(again);
      if (dtype == DType::int8 || dtype == DType::int16 || dtype == DType::int4 || dtype == DType::int2 ||
          dtype == DType::ternary || dtype == DType::binary) {
        EXPECT_EQ(codes_of(*again), codes_of(*q)) << name(dtype);
      } else if (kDTypes[t].compute == ComputeClass::F32 || kDTypes[t].compute == ComputeClass::F64) {
        EXPECT_EQ(dequantize(*again), values) << name(dtype);
      } else {
        const auto second = dequantize(*again);
        for (std::size_t i = 0; i < values.size(); ++i) {
          const double step = again->scales[again->span_of(i / 150, i % 150)];
          ASSERT_LE(std::abs(static_cast<double>(second[i]) - static_cast<double>(values[i])), step + 1e-6)
              << name(dtype);
        }
      }
    }
}

TEST(Quantize, errors_stay_within_half_a_step) {  // D-01
  for (const DType dtype : {DType::int8, DType::int16, DType::int32, DType::int64, DType::uint8, DType::uint16,
                            DType::uint32, DType::uint64, DType::int4, DType::uint4, DType::uint2}) {
    const auto w = normal(3, 64 * 100);
    const auto q = quantize(dtype, w, 64, 100);
    ASSERT_TRUE(q);
    const auto back = dequantize(*q);
    for (std::size_t i = 0; i < w.size(); ++i) {
      // Half a step, one more where a zero point was rounded at an end, and the rounding of f32.
      const double allowed =
          q->scales[q->span_of(i / 100, i % 100)] * (q->zero_points.empty() ? 0.5 : 1.0) + std::abs(w[i]) * 0x1p-22;
      ASSERT_LE(std::abs(static_cast<double>(back[i]) - static_cast<double>(w[i])), allowed) << name(dtype) << " " << i;
    }
  }
}

struct Example {
  DType dtype;
  std::vector<float> weights;
  double scale;
  std::vector<std::int64_t> codes;
  std::int64_t zero_point = 0;
};
constexpr float kMeanSize = (3.0f + 1.0f + 0.4f) / 4;

TEST(Quantize, examples_by_hand) {  // D-01
  const float third = 1.0f / 3.0f;
  const std::vector<Example> examples = {
      // ties to even; a scale of 1 is a scale
      {DType::int8, {127, -127, 0.5f, 1.5f, 2.5f, -0.5f}, 1.0, {127, -127, 0, 2, 2, 0}},
      {DType::int8, {0, 0}, 1.0, {0, 0}},
      {DType::uint8, {-1, 254}, 1.0, {0, 255}, 1},
      {DType::uint8, {255, 51}, 1.0, {255, 51}, 0},  // 0 belongs to the range
      {DType::uint2, {-1, 2, 0}, 1.0, {0, 3, 1}, 1},
      {DType::int4, {-7, 3.5f, 7}, 1.0, {-7, 4, 7}},
      {DType::int4, {third * 7, 0}, 0.333984375, {7, 0}},        // 9 bits, away from zero: 342 / 1024
      {DType::uint4, {third * 15, 0}, 0.333984375, {15, 0}, 0},  // 8 bits: 171 / 512
      {DType::fp4, {6, -3, 0.25f, -0.2f, 2.5f}, 1.0, {7, 13, 0, 0, 4}},
      {DType::int2, {4, -2, 1, -4}, -2.0, {-2, 1, 0, 1}},  // the first largest is positive, so the scale is negative
      {DType::int2, {-4, 2, 4}, 2.0, {-2, 1, 1}},
      {DType::ternary, {2, -2, 0, 2}, 2.0, {1, -1, 0, 1}},  // one size only: the mean would be 1.5
      {DType::ternary, {3, -1, 0, 0.4f}, kMeanSize, {1, -1, 0, 0}},
      {DType::binary, {3, -1, 0, -0.0f}, 1.0, {1, -1, 1, 1}},
      {DType::binary, {0, 0}, 0.0, {1, 1}},
      {DType::fp8e4m3, {448, -1}, 1.0, {0x7e, 0xb8}},
      {DType::fp8e4m3, {449, 0}, 2.0, {0x76, 0}},
      {DType::fp8e5m2, {57344, 0}, 1.0, {0x7b, 0}},
      {DType::float16, {1, -2, 1e9f}, 0, {0x3c00, 0xc000, 0x7bff}},
      {DType::bfloat16, {1, -2, 3.4e38f}, 0, {0x3f80, 0xc000, 0x7f7f}},
      {DType::int16, {32767, -2}, 1.0, {32767, -2}},
      // 1 / (2^53 - 1) is rounded up, so the largest code is one less.
      {DType::int64, {1, -1}, 1.0 / 9007199254740991.0, {9007199254740990, -9007199254740990}},
      {DType::uint64, {0, 1}, 1.0 / 9007199254740991.0, {0, 9007199254740990}, 0},
  };
  for (const Example& e : examples) {
    const auto q = quantize(e.dtype, e.weights, 1, e.weights.size());
    ASSERT_TRUE(q);
    EXPECT_EQ(codes_of(*q), e.codes) << name(e.dtype);
    if (!q->scales.empty()) {
      EXPECT_EQ(q->scales[0], e.scale) << name(e.dtype);
    }
    if (!q->zero_points.empty()) {
      EXPECT_EQ(q->zero_points[0], e.zero_point) << name(e.dtype);
    }
  }
}

TEST(Quantize, group_scales_are_short_and_no_smaller) {  // D-04
  for (const DType dtype : {DType::int4, DType::uint4, DType::fp4, DType::int2, DType::uint2})
    for (const std::size_t group : {32, 64, 128}) {
      const auto w = normal(9, 50 * 128);
      const auto q = quantize(dtype, w, 50, 128, {Granularity::Group, group});
      const int bits = (group == 32 ? 9 : group == 64 ? 8 : 7) - (dtype == DType::uint4 ? 1 : 0);
      for (const double s : q->scales) {
        int exponent;
        const double scaled = std::ldexp(std::frexp(s, &exponent), bits);
        ASSERT_EQ(scaled, std::floor(scaled)) << name(dtype) << " " << group;
      }
      for (std::size_t i = 0; i < w.size(); ++i) {  // away from zero: nothing is clipped but by half a step
        const double s = std::abs(q->scales[q->span_of(i / 128, i % 128)]);
        if (dtype != DType::int2) {
          ASSERT_LE(std::abs(w[i]) / s, dtype == DType::fp4 ? 6.0 : 15.5) << name(dtype);
        }
      }
    }
}

TEST(Quantize, tiny_groups_become_zeros) {  // D-01
  for (std::size_t t = 0; t < kNumTypes; ++t) {
    const DType dtype = kDTypes[t].dtype;
    if (kDTypes[t].bits > 4) continue;
    const auto q = quantize(dtype, normal(5, 64, 0x1p-28f), 1, 64, {Granularity::Group, 32});
    ASSERT_TRUE(q);
    for (const float v : dequantize(*q)) EXPECT_EQ(std::bit_cast<std::uint32_t>(v), 0u) << name(dtype);
    for (const double s : q->scales) EXPECT_EQ(s, dtype == DType::binary ? 0.0 : 1.0);
  }
}

TEST(Quantize, finite_in_finite_out) {  // D-05
  const float max = std::numeric_limits<float>::max();
  for (std::size_t t = 0; t < kNumTypes; ++t)
    for (const ScaleSpan& span : spans()) {
      const DType dtype = kDTypes[t].dtype;
      std::vector<float> w(64, max);
      for (std::size_t i = 0; i < w.size(); i += 3) w[i] = -max;
      w[5] = 1e-45f, w[6] = 1.0f;
      const auto q = quantize(dtype, w, 2, 32, span);
      ASSERT_TRUE(q);
      for (const float v : dequantize(*q)) ASSERT_TRUE(std::isfinite(v)) << name(dtype);
      for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
        w[7] = bad;
        EXPECT_EQ(quantize(dtype, w, 2, 32, span).error().code, Code::NonFinite);
        EXPECT_EQ(quantize_like(*q, w).error().code, Code::NonFinite);
      }
    }
}

TEST(Quantize, spans) {  // D-06
  const auto w = normal(1, 3 * 70);
  EXPECT_EQ(quantize(DType::int8, w, 3, 70)->scales.size(), 3u);
  EXPECT_EQ(quantize(DType::ternary, w, 3, 70)->scales.size(), 1u);
  EXPECT_EQ(quantize(DType::int4, w, 3, 70)->scales.size(), 9u);  // 32, 32 and a short group of 6; never across rows
  EXPECT_EQ(quantize(DType::int4, w, 3, 70, {Granularity::Group, 64})->scales.size(), 6u);
  EXPECT_EQ(quantize(DType::int4, w, 3, 70, {Granularity::Tensor})->scales.size(), 1u);
  EXPECT_TRUE(quantize(DType::float32, w, 3, 70)->scales.empty());
  const auto q = quantize(DType::int4, w, 3, 70);
  EXPECT_EQ(q->span_of(2, 69), 8u);
  std::vector<float> changed = w;
  changed[69] *= 100;  // the last group of the first row
  const auto r = quantize(DType::int4, changed, 3, 70);
  for (std::size_t s = 0; s < 9; ++s) EXPECT_EQ(q->scales[s] == r->scales[s], s != 2);
  EXPECT_FALSE(quantize(DType::int4, w, 3, 70, {Granularity::Group, 16}));
  EXPECT_FALSE(quantize(DType::int4, w, 3, 71));
  EXPECT_FALSE(quantize(DType::int4, {}, 0, 0));
  EXPECT_FALSE(quantize(DType::q4_0, w, 3, 70));
  EXPECT_FALSE(quantize_like(*q, std::span(w).first(5)));
}

// D-05
TEST(Quantize, codes_and_scales_of_a_second_implementation) {  // quantised() of tools/golden/dtypes.py
  for (std::size_t t = 0; t < kNumTypes; ++t) {
    const auto q = quantize(kDTypes[t].dtype, normal(t, 16 * 96), 16, 96);
    ASSERT_TRUE(q);
    std::vector<std::byte> all = q->codes;
    for (const double s : q->scales) {
      all.resize(all.size() + 8);
      store_le(all.data() + all.size() - 8, s);
    }
    EXPECT_EQ(digest(all), golden_text("quantize", std::string(kDTypes[t].name), "")) << kDTypes[t].name;
  }
}

// Encoders of small floats take four numbers at a time by other steps than the codec, which takes one.
template <class Float>
void expect_codes_of_codec(DType dtype) {
  constexpr std::size_t kCols = 32;
  std::vector<float> w;
  for (std::uint64_t i = 0; i < 200'000; ++i) {  // any bits, and numbers near the codes' range
    const auto bits = static_cast<std::uint32_t>(splitmix(7, i) >> 32);
    const std::uint32_t near = (bits & 0x81ffffffu) + (52u << 24);
    const float x = std::bit_cast<float>(i % 2 == 0 ? bits : near);
    w.push_back(std::isfinite(x) ? x : 0.0f);
  }
  for (int code = 0; code + 1 <= Float::kMax; ++code) {  // codes, half-way values, and neighbours
    const float low = Float::decode(static_cast<std::uint8_t>(code));
    const float half = (low + Float::decode(static_cast<std::uint8_t>(code + 1))) / 2;
    for (const float x : {low, half, std::nextafter(half, 0.0f), std::nextafter(half, 1e30f)})
      w.insert(w.end(), {x, -x});
  }
  w.resize((w.size() + kCols - 1) / kCols * kCols);
  QuantizedMatrix like = *quantize(dtype, w, w.size() / kCols, kCols);
  for (const float scale : {1.0f, 0x1p-24f, 0x1p-20f, 3.0f * 0x1p-6f, 0x1p30f, 0x1p100f}) {
    if (dtype != DType::fp4 && scale == 3.0f * 0x1p-6f) continue;  // powers of two alone
    std::ranges::fill(like.scales, static_cast<double>(scale));
    const auto q = quantize_like(like, w);
    ASSERT_TRUE(q) << q.error().message;
    for (std::size_t i = 0; i < w.size(); ++i) {
      const float x = std::abs(w[i]) < kSnap ? 0.0f : w[i];
      const std::uint8_t code = Float::encode(x / scale);
      const bool is_zero = std::abs(Float::decode(code) * scale) < kSnap;
      ASSERT_EQ(q->code(i), is_zero ? 0 : code) << name(dtype) << " " << x << " / " << scale;
    }
  }
}

TEST(Quantize, small_floats_have_the_codes_of_their_codec) {  // D-05
  expect_codes_of_codec<Fp8E4M3>(DType::fp8e4m3);
  expect_codes_of_codec<Fp8E5M2>(DType::fp8e5m2);
  expect_codes_of_codec<Fp4E2M1>(DType::fp4);
}

TEST(Quantize, halfs_have_the_codes_of_their_codec_and_signs_those_of_binary) {  // D-01
  std::vector<float> w;
  for (std::uint64_t i = 0; i < 200'000; ++i) {  // any bits, and sizes from 2^-31 to 2
    const auto bits = static_cast<std::uint32_t>(splitmix(8, i) >> 32);
    const float x = std::bit_cast<float>(i % 2 == 0 ? bits : (bits & 0x8fffffffu) + (96u << 23));
    w.push_back(std::isfinite(x) ? x : 0.0f);
  }
  for (std::uint16_t code = 0; code < 0x7bff; ++code) {  // codes, half-way values, and neighbours
    const float low = float16_to_float(code);
    const float half = (low + float16_to_float(static_cast<std::uint16_t>(code + 1))) / 2;
    for (const float x : {low, half, std::nextafter(half, 0.0f), std::nextafter(half, 1e30f)})
      w.insert(w.end(), {x, -x});
  }
  const QuantizedMatrix halfs = quantize(DType::float16, w, 1, w.size()).value();
  const QuantizedMatrix signs = quantize(DType::binary, w, 1, w.size()).value();
  for (std::size_t i = 0; i < w.size(); ++i) {
    const float x = std::abs(w[i]) < kSnap ? 0.0f : w[i];
    const std::uint16_t code = float_to_float16_saturated(x);
    ASSERT_EQ(halfs.code(i), code == 0x8000 ? 0 : code) << x;
    ASSERT_EQ(signs.code(i), x < 0 ? -1 : 1) << x;
  }
}

TEST(Quantize, codes_of_64_bits_are_exact_in_f64) {  // D-02
  const std::vector<float> w = {3.0f, -1.0f, 0.7f, 1e-3f, 0.0f, -3.0f};
  for (const DType t : {DType::int64, DType::uint64}) {
    const QuantizedMatrix q = quantize(t, w, 1, w.size()).value();
    for (const std::int64_t c : codes_of(q)) EXPECT_LT(std::abs(c), std::int64_t{1} << 53) << name(t);
    EXPECT_EQ(dequantize(q), w) << name(t);
  }
  // Codes of other programs use all 64 bits: they count as the nearest f64.
  QuantizedMatrix q = quantize(DType::int64, std::vector<float>{1.0f, 1.0f}, 1, 2).value();
  q.scales[0] = 0x1p-62;
  store_le(q.codes.data(), (std::int64_t{1} << 62) + 1);
  store_le(q.codes.data() + 8, std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(dequantize(q), (std::vector<float>{1.0f, -2.0f}));
}

TEST(Quantize, errors_rank_as_the_bits_do) {  // G-52, G-53
  const std::vector<float> w = normal(52, 64 * 256);
  const auto error = [&](DType t) {
    const std::vector<float> values = dequantize(quantize(t, w, 64, 256).value());
    double sum = 0;
    for (std::size_t i = 0; i < w.size(); ++i)
      sum += std::pow(static_cast<double>(values[i]) - static_cast<double>(w[i]), 2);
    return std::sqrt(sum);
  };
  EXPECT_LE(error(DType::uint8), 1.2 * error(DType::int8));
  EXPECT_LT(error(DType::int16), error(DType::int8) / 100);
  EXPECT_LT(error(DType::int32), error(DType::int16) / 100);
}

}  // namespace
}  // namespace loom
