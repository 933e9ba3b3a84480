// Every code of every float of 16 bits or fewer against numpy and ml_dtypes (tools/golden/dtypes.py), both ways.

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "dtypes/float16.h"
#include "dtypes/golden_test.h"
#include "dtypes/small_float.h"

namespace loom {
namespace {

template <class Code, class Decode, class Encode>
void expect_golden(const char* name, unsigned num_codes, Decode decode, Encode encode) {
  SCOPED_TRACE(name);
  std::vector<std::uint32_t> decoded;
  std::vector<double> values;
  for (unsigned c = 0; c < num_codes; ++c) {
    const float v = decode(static_cast<Code>(c));
    decoded.push_back(std::isnan(v) ? kQuietNan : std::bit_cast<std::uint32_t>(v));
    if (std::isfinite(v)) values.push_back(v);
  }
  EXPECT_EQ(digest(decoded), golden_text("floats", name, "decode"));

  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  std::vector<std::uint32_t> points = {0u, 0x80000000u};
  const auto add = [&](float x) {
    if (std::isfinite(x) && x != 0.0f) points.push_back(std::bit_cast<std::uint32_t>(x));
  };
  for (std::size_t i = 0; i < 2 * values.size() - 1; ++i) {
    const auto p = static_cast<float>(i % 2 == 0 ? values[i / 2] : (values[i / 2] + values[i / 2 + 1]) / 2);
    add(p);
    add(std::nextafter(p, std::numeric_limits<float>::infinity()));
    add(std::nextafter(p, -std::numeric_limits<float>::infinity()));
  }
  std::sort(points.begin(), points.end());
  points.erase(std::unique(points.begin(), points.end()), points.end());
  ASSERT_EQ(digest(points), golden_text("floats", name, "inputs"));
  std::vector<Code> codes;
  for (const std::uint32_t p : points) codes.push_back(static_cast<Code>(encode(std::bit_cast<float>(p))));
  EXPECT_EQ(digest(codes), golden_text("floats", name, "encode"));
}

TEST(FloatCodecs, every_code_and_every_rounding_border) {  // G-49, G-50, G-51
  expect_golden<std::uint16_t>("float16", 65536, float16_to_float, float_to_float16_saturated);
  expect_golden<std::uint16_t>("bfloat16", 65536, bfloat16_to_float, float_to_bfloat16_saturated);
  expect_golden<std::uint8_t>("fp8e4m3", 256, Fp8E4M3::decode, Fp8E4M3::encode);
  expect_golden<std::uint8_t>("fp8e5m2", 256, Fp8E5M2::decode, Fp8E5M2::encode);
  expect_golden<std::uint8_t>("fp4e2m1", 16, Fp4E2M1::decode, Fp4E2M1::encode);
}

TEST(FloatCodecs, EveryCodeReturnsToItself) {
  for (unsigned c = 0; c < 65536; ++c) {
    const auto code = static_cast<std::uint16_t>(c);
    if (const float h = float16_to_float(code); !std::isnan(h)) {
      ASSERT_EQ(float_to_float16(h), code);
    }
    if (const float b = bfloat16_to_float(code); !std::isnan(b)) {
      ASSERT_EQ(float_to_bfloat16(b), code);
    }
  }
  for (unsigned c = 0; c < 256; ++c) {
    const auto code = static_cast<std::uint8_t>(c);
    if (const float v = Fp8E4M3::decode(code); !std::isnan(v)) {
      ASSERT_EQ(Fp8E4M3::encode(v), code);
    }
    if (const float v = Fp8E5M2::decode(code); std::isfinite(v)) {
      ASSERT_EQ(Fp8E5M2::encode(v), code);
    }
    if (c < 16) {
      ASSERT_EQ(Fp4E2M1::encode(Fp4E2M1::decode(code)), code);
    }
  }
}

TEST(FloatCodecs, NonFiniteAndOverflow) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(float_to_float16(1e9f), 0x7c00);
  EXPECT_EQ(float_to_float16(65519.996f), 0x7bff);
  EXPECT_EQ(float_to_float16(65520.0f), 0x7c00);
  EXPECT_EQ(float_to_float16_saturated(-inf), 0xfbff);
  EXPECT_EQ(float_to_bfloat16(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(float_to_bfloat16_saturated(std::numeric_limits<float>::max()), 0x7f7f);
  EXPECT_TRUE(std::isnan(float16_to_float(float_to_float16(nan))));
  EXPECT_TRUE(std::isnan(float16_to_float(float_to_float16_saturated(-nan))));
  EXPECT_TRUE(std::isnan(bfloat16_to_float(float_to_bfloat16_saturated(std::bit_cast<float>(0x7f800001u)))));
  EXPECT_TRUE(std::isnan(Fp8E4M3::decode(Fp8E4M3::encode(nan))));
  EXPECT_TRUE(std::isnan(Fp8E5M2::decode(Fp8E5M2::encode(nan))));
  EXPECT_EQ(Fp8E4M3::encode(-inf), 0xfe);
  EXPECT_EQ(Fp8E5M2::encode(inf), 0x7b);
  EXPECT_EQ(Fp4E2M1::encode(1e30f), 7);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(snapped(-0x1.fffffep-52f)), 0u);
  EXPECT_EQ(snapped(0x1p-51f), 0x1p-51f);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(snapped(-nan)), kQuietNan);
}

}  // namespace
}  // namespace loom
