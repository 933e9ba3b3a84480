#include "legacy/files/blob.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/little_endian.h"
#include "layers/weight.h"

namespace loom::loom08::blob_test {
namespace {

std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
  std::vector<std::byte> out;
  for (const int v : values) out.push_back(static_cast<std::byte>(v));
  return out;
}

Result<QuantizedMatrix> read(DType dtype, const std::vector<std::byte>& bytes, float scale, std::size_t count,
                             std::size_t first = 0) {
  const Blob blob{dtype, true, scale, bytes};
  LOOM_TRY_VOID(check(blob, first + count));
  return matrix_of(blob, first, 1, count);
}

Code code_of(DType dtype, const std::vector<std::byte>& bytes, float scale, std::size_t count) {
  const auto q = read(dtype, bytes, scale, count);
  return q ? Code{} : q.error().code;
}

// A weight that was restored, as a network computes with it.
std::vector<float> as_weight(const QuantizedMatrix& q) {
  Weight w;
  EXPECT_TRUE(w.declare("w", WeightRole::Matrix, std::array{q.rows, q.cols}));
  const auto restored = w.restore(q, {.dtype = q.dtype});
  EXPECT_TRUE(restored) << restored.error().text();
  std::vector<float> values(w.elements());
  w.decode(0, values.size(), values.data());
  return values;
}

// 0.8x: 0 .75 1 1.5 2 3 Inf NaN and the same below zero. E2M1: 0 .5 1 1.5 2 3 4 6.
TEST(Loom08Blob, fp4_codes_become_those_of_twice_the_value) {  // D-40, G-51
  auto q = read(DType::fp4, bytes_of({0x01, 0x23, 0x45, 0x89, 0xab, 0xcd}), 0.5, 12);
  ASSERT_TRUE(q) << q.error().text();
  EXPECT_EQ(q->codes, bytes_of({0, 3, 4, 5, 6, 7, 8, 11, 12, 13, 14, 15}));
  EXPECT_EQ(q->scales, std::vector<double>{0.25});
  const std::vector<float> values = {0, 0.375f, 0.5f, 0.75f, 1, 1.5f, 0, -0.375f, -0.5f, -0.75f, -1, -1.5f};
  EXPECT_EQ(dequantize(*q), values);
  repeat_scale_by_group(*q);
  EXPECT_EQ(as_weight(*q), values);
  for (const int code : {6, 7, 14, 15}) {
    EXPECT_EQ(code_of(DType::fp4, bytes_of({code << 4}), 1, 1), Code::CorruptData) << code;
    EXPECT_EQ(code_of(DType::fp4, bytes_of({code}), 1, 1), Code{}) << "it fills up the byte";
  }
}

TEST(Loom08Blob, codes_of_every_integer_type) {  // D-40, F-21
  struct Row {
    DType dtype;
    std::vector<std::byte> bytes;
    std::vector<float> values;  // at scale 0.5
  };
  const std::vector<Row> rows = {
      {DType::int8, bytes_of({0x7f, 0x80, 0xff}), {63.5f, -64, -0.5f}},
      {DType::uint8, bytes_of({0, 1, 0xff}), {0, 0.5f, 127.5f}},
      {DType::int16, bytes_of({0x34, 0x12, 0xff, 0xff}), {2330, -0.5f}},
      {DType::uint16, bytes_of({0x34, 0x12, 0xff, 0xff}), {2330, 32767.5f}},
      {DType::int32, bytes_of({0, 0, 1, 0, 0xfe, 0xff, 0xff, 0xff}), {32768, -1}},
      {DType::uint32, bytes_of({0, 0, 1, 0, 0, 0, 0, 0x80}), {32768, 0x1p30f}},
      {DType::int64, bytes_of({0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}), {-0.5f}},
      {DType::uint64, bytes_of({0, 0, 0, 0, 1, 0, 0, 0}), {0x1p31f}},
      {DType::int4, bytes_of({0x78, 0xf0, 0x1a}), {3.5f, -4, -0.5f, 0, 0.5f}},
      {DType::uint4, bytes_of({0x78, 0xf0, 0x1a}), {3.5f, 4, 7.5f, 0, 0.5f}},
      {DType::int2, bytes_of({0b00011011, 0b01111111}), {0, 0.5f, -1, -0.5f, 0.5f}},
      {DType::uint2, bytes_of({0b00011011, 0b01111111}), {0, 0.5f, 1, 1.5f, 0.5f}},
      {DType::ternary, bytes_of({0b00011101, 0b11101010}), {0, 0.5f, -0.5f, 0.5f, -0.5f}},
      {DType::binary, bytes_of({0b10110000, 0b01111111}), {0.5f, -0.5f, 0.5f, 0.5f, -0.5f, -0.5f, -0.5f, -0.5f, -0.5f}},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(name(row.dtype));
    const auto q = read(row.dtype, row.bytes, 0.5, row.values.size());
    ASSERT_TRUE(q) << q.error().text();
    EXPECT_EQ(q->span.granularity, Granularity::Tensor);
    EXPECT_EQ(dequantize(*q), row.values);
    EXPECT_EQ(as_weight(*q), row.values);
    const auto last = read(row.dtype, row.bytes, 0.5, 1, row.values.size() - 1);
    ASSERT_TRUE(last);
    EXPECT_EQ(dequantize(*last), std::vector<float>{row.values.back()}) << "a store holds several weights";
  }
  EXPECT_EQ(code_of(DType::ternary, bytes_of({0b10000000}), 1, 1), Code::CorruptData);
  EXPECT_EQ(code_of(DType::uint64, bytes_of({0, 0, 0, 0, 0, 0, 0, 0x80}), 1, 1), Code::Unsupported);
}

// Floats of 16 bits and more are what they are; 0.8x writes a scale beside them that nothing reads.
TEST(Loom08Blob, floats_have_no_scale) {  // D-40
  const auto values = [](DType dtype, std::initializer_list<int> bytes, std::size_t count) {
    const auto q = read(dtype, bytes_of(bytes), 0.25, count);
    EXPECT_TRUE(q) << q.error().text();
    return q ? as_weight(*q) : std::vector<float>();
  };
  EXPECT_EQ(values(DType::float16, {0x00, 0x3e, 0x00, 0xc0}, 2), (std::vector<float>{1.5f, -2}));
  EXPECT_EQ(values(DType::bfloat16, {0xc0, 0x3f, 0x00, 0xc0}, 2), (std::vector<float>{1.5f, -2}));
  EXPECT_EQ(values(DType::float32, {0x00, 0x00, 0xc0, 0x3f}, 1), (std::vector<float>{1.5f}));
  EXPECT_EQ(values(DType::float64, {0, 0, 0, 0, 0, 0, 0xf8, 0x3f}, 1), (std::vector<float>{1.5f}));
}

TEST(Loom08Blob, fp8e4m3_has_a_code_for_480) {  // D-40
  // 1.0, -448 and the smallest number that 0.8x writes stay codes
  const auto plain = read(DType::fp8e4m3, bytes_of({0x38, 0xfe, 0x08}), 0.5, 3);
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->codes, bytes_of({0x38, 0xfe, 0x08}));
  EXPECT_EQ(plain->scales, std::vector<double>{0.5});
  EXPECT_EQ(dequantize(*plain), (std::vector<float>{0.5f, -224, 0x1p-7f}));
  // 480 * 0.5 = 240 <= 448: scale 1, of which all of these are multiples that E4M3 has
  const auto q = read(DType::fp8e4m3, bytes_of({0x7f, 0xff, 0x38, 0x00}), 0.5, 4);
  ASSERT_TRUE(q) << q.error().text();
  EXPECT_EQ(q->scales, std::vector<double>{1});
  EXPECT_EQ(q->codes, bytes_of({0x77, 0xf7, 0x30, 0x00}));
  EXPECT_EQ(as_weight(*q), (std::vector<float>{240, -240, 0.5f, 0}));
  // fp8e5m2 has OCP's infinities, which are no weights
  const auto infinite = read(DType::fp8e5m2, bytes_of({0x3c, 0x7c}), 1, 2);
  ASSERT_TRUE(infinite);
  Weight w;
  ASSERT_TRUE(w.declare("w", WeightRole::Matrix, std::array<std::size_t, 2>{1, 2}));
  EXPECT_EQ(w.restore(*infinite, {.dtype = DType::fp8e5m2}).error().code, Code::NonFinite);
}

TEST(Loom08Blob, sizes_and_scales_are_checked) {  // D-40, F-01
  const std::vector<std::byte> three = bytes_of({1, 2, 3});
  EXPECT_EQ(code_of(DType::int8, three, 1, 2), Code::CorruptData);
  EXPECT_EQ(code_of(DType::int8, three, 1, 4), Code::CorruptData);
  EXPECT_EQ(code_of(DType::int4, three, 1, 4), Code::CorruptData);
  EXPECT_EQ(code_of(DType::int4, three, 1, 5), Code{});
  EXPECT_EQ(code_of(DType::binary, three, 1, 16), Code::CorruptData);
  EXPECT_EQ(code_of(DType::float32, three, 1, 1), Code::CorruptData);
  EXPECT_EQ(check({DType::int8, true, 1, three}, ~std::size_t{0} / 4).error().code, Code::SizeOverflow);
  EXPECT_EQ(check({DType::q4_0, true, 1, three}, 3).error().code, Code::Unsupported);
  for (const float scale : {0.0f, -1.0f, 1e-40f, 0x1p64f, INFINITY, NAN})
    EXPECT_EQ(code_of(DType::int8, three, scale, 3), Code::CorruptData) << scale;
  EXPECT_EQ(code_of(DType::int8, three, 0x1p-126f, 3), Code{});
  EXPECT_EQ(code_of(DType::fp4, three, 0x1p-126f, 6), Code::CorruptData) << "its half is subnormal";
}

// Blocks of Q4_0 as 0.8x packs them: the words are filled up to 512.
std::vector<std::byte> q4_0(const std::vector<float>& scales, const std::vector<std::byte>& codes) {
  std::vector<std::byte> out(8 + scales.size() * 4 + 512 * 4);
  store_le(out.data(), static_cast<std::uint32_t>(scales.size()));
  store_le(out.data() + 4, std::uint32_t{512});
  for (std::size_t i = 0; i < scales.size(); ++i) store_le(out.data() + 8 + i * 4, scales[i]);
  std::ranges::copy(codes, out.begin() + static_cast<std::ptrdiff_t>(8 + scales.size() * 4));
  return out;
}

// Byte j of a block holds codes 2j and 2j + 1: 0x10 0x32 .. 0xfe are 0 1 2 .. 7 -8 -7 .. -1.
std::vector<std::byte> ramp_codes(std::size_t blocks) {
  std::vector<std::byte> codes;
  for (std::size_t i = 0; i < blocks * 16; ++i) codes.push_back(static_cast<std::byte>(0x10 + i % 8 * 0x22));
  return codes;
}
float ramp(std::size_t i) { return static_cast<float>(i % 16 < 8 ? i % 16 : i % 16 - 16.0); }

TEST(Loom08Blob, q4_0_is_int4_in_groups_of_the_flattened_matrix) {    // D-41
  const std::vector<float> scales = {0.5f, 2, 0.1f, 0x1.fffffep-3f};  // the last two have all 24 bits
  const auto q = matrix_of_q4_0(q4_0(scales, ramp_codes(4)), 2, 64);
  ASSERT_TRUE(q) << q.error().text();
  EXPECT_EQ(q->dtype, DType::int4);
  EXPECT_EQ(q->span.granularity, Granularity::Group);
  EXPECT_EQ(q->span.group_size, 32u);
  const std::vector<float> values = as_weight(*q);
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i], ramp(i) * scales[i / 32]) << i;
  EXPECT_EQ(values[1], 0.5f);
  EXPECT_EQ(values[8], -4.0f);
  EXPECT_EQ(values[15], -0.5f);
  EXPECT_EQ(values[33], 2.0f);
  // a block of zeros has scale 0 / 7
  const auto zeros = matrix_of_q4_0(q4_0({0}, ramp_codes(0)), 1, 32);
  ASSERT_TRUE(zeros);
  EXPECT_EQ(as_weight(*zeros), std::vector<float>(32, 0.0f));
}

TEST(Loom08Blob, q4_0_is_decoded_where_a_block_lies_in_two_rows) {  // D-41
  const std::vector<float> scales = {1, 0.25f, 3};
  const auto q = matrix_of_q4_0(q4_0(scales, ramp_codes(3)), 2, 48);
  ASSERT_TRUE(q) << q.error().text();
  EXPECT_EQ(q->dtype, DType::float32);
  const std::vector<float> values = as_weight(*q);
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i], ramp(i) * scales[i / 32]) << i;
  EXPECT_EQ(values[47], -0.25f);
  EXPECT_EQ(values[48], 0.0f);
  const auto odd = matrix_of_q4_0(q4_0({2}, ramp_codes(1)), 3, 3);
  ASSERT_TRUE(odd);
  EXPECT_EQ(as_weight(*odd), (std::vector<float>{0, 2, 4, 6, 8, 10, 12, 14, -16}));
}

// Groups of columns take no scale below 2^-24; floats take any.
TEST(Loom08Blob, q4_0_with_a_tiny_scale_is_zero_in_groups) {  // D-41
  for (const float scale : {0x1p-25f, 1e-30f, 0x1.fffffep-25f}) {
    const auto q = matrix_of_q4_0(q4_0({scale}, ramp_codes(1)), 1, 32);
    ASSERT_TRUE(q) << q.error().text();
    EXPECT_EQ(as_weight(*q), std::vector<float>(32, 0.0f)) << scale;
  }
  const auto least = matrix_of_q4_0(q4_0({0x1p-24f}, ramp_codes(1)), 1, 32);
  ASSERT_TRUE(least);
  EXPECT_EQ(as_weight(*least)[1], 0x1p-24f);
  const auto odd = matrix_of_q4_0(q4_0({0x1p-25f}, ramp_codes(1)), 2, 16);
  ASSERT_TRUE(odd);
  EXPECT_EQ(as_weight(*odd)[1], 0x1p-25f);
}

TEST(Loom08Blob, fp4_with_a_tiny_scale_is_refused_in_groups) {  // D-40, D-08
  auto q = read(DType::fp4, std::vector<std::byte>(16, std::byte{0x22}), 0x1p-24f, 32);
  ASSERT_TRUE(q) << q.error().text();
  repeat_scale_by_group(*q);
  Weight w;
  ASSERT_TRUE(w.declare("w", WeightRole::Matrix, std::array{q->rows, q->cols}));
  const auto refused = w.restore(*q, {.dtype = DType::fp4});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::CorruptData) << refused.error().text();
}

TEST(Loom08Blob, q4_0_is_checked) {  // D-41, F-01
  const std::vector<std::byte> good = q4_0({1, 1}, ramp_codes(2));
  ASSERT_TRUE(matrix_of_q4_0(good, 2, 32));
  const auto code = [](const std::vector<std::byte>& bytes, std::size_t rows, std::size_t cols) {
    const auto q = matrix_of_q4_0(bytes, rows, cols);
    return q ? Code{} : q.error().code;
  };
  for (std::size_t n = 0; n < good.size(); ++n)
    ASSERT_EQ(code({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(n)}, 2, 32), Code::CorruptData) << n;
  EXPECT_EQ(code(good, 1, 32), Code::CorruptData);
  EXPECT_EQ(code(good, 3, 32), Code::CorruptData);
  EXPECT_EQ(code(good, ~std::size_t{0}, 32), Code::SizeOverflow);
  auto bad = good;
  bad.push_back(std::byte{0});
  EXPECT_EQ(code(bad, 2, 32), Code::CorruptData);
  for (const float scale : {-1.0f, INFINITY, NAN, 3e38f, 0x1p64f})
    EXPECT_EQ(code(q4_0({1, scale}, {}), 2, 32), Code::CorruptData) << scale;
  bad = good;
  store_le(bad.data(), ~std::uint32_t{0}), store_le(bad.data() + 4, ~std::uint32_t{0});
  EXPECT_EQ(code(bad, 2, 32), Code::CorruptData);
}

}  // namespace
}  // namespace loom::loom08::blob_test
