#include "dtypes/packing.h"

#include "dtypes/golden_test.h"

namespace loom {
namespace {

QuantizedMatrix sample(DType dtype, std::size_t rows, std::size_t cols, ScaleSpan span = {}) {
  std::vector<float> w(rows * cols);
  for (std::size_t i = 0; i < w.size(); ++i)
    w[i] = static_cast<float>(splitmix(index(dtype), i) >> 40) * 0x1p-23f - 0.75f;
  return quantize(dtype, w, rows, cols, span).value();
}

// D-10 word by word: the definition, one bit at a time.
std::vector<std::byte> by_definition(const QuantizedMatrix& m) {
  const std::size_t bits = info(m.dtype).bits, words = (m.cols + 31) / 32 * bits;
  std::vector<std::byte> out(m.rows * words * 4);
  for (std::size_t row = 0; row < m.rows; ++row) {
    std::vector<std::uint32_t> word(words);
    for (std::size_t i = 0; i < words * 32 / bits; ++i) {
      const bool filled = i >= m.cols;
      const std::int64_t zero = m.zero_points.empty() ? 0 : m.zero_points[m.span_of(row, filled ? m.cols - 1 : i)];
      std::int64_t code = filled ? zero : m.code(row * m.cols + i);
      if (m.dtype == DType::ternary) code += 1;
      if (m.dtype == DType::binary) code = code > 0 ? 1 : 0;
      for (std::size_t b = 0; b < bits; ++b)
        word[(i * bits + b) / 32] |= static_cast<std::uint32_t>(code >> b & 1) << ((i * bits + b) % 32);
    }
    for (std::size_t k = 0; k < words; ++k) store_le(out.data() + (row * words + k) * 4, word[k]);
  }
  return out;
}

TEST(Packing, every_type_and_odd_counts_follow_the_definition_and_come_back) {  // D-10
  for (std::size_t t = 0; t < kNumTypes; ++t)
    for (const ScaleSpan& span : spans())
      for (const auto& [rows, cols] :
           {std::pair<std::size_t, std::size_t>{1, 1}, {3, 7}, {2, 31}, {2, 32}, {5, 33}, {1, 150}, {7, 257}}) {
        const DType dtype = kDTypes[t].dtype;
        const QuantizedMatrix m = sample(dtype, rows, cols, span);
        const auto p = pack(m);
        ASSERT_TRUE(p) << name(dtype) << ": " << p.error().text();
        EXPECT_EQ(p->codes.size(), packed_bytes(dtype, rows, cols).value());
        ASSERT_EQ(p->codes, by_definition(m)) << name(dtype) << " " << rows << " x " << cols;
        const auto back = unpack(dtype, rows, cols, m.span, p->codes, p->scales, p->zeros);
        ASSERT_TRUE(back) << name(dtype) << ": " << back.error().text();
        EXPECT_EQ(back->codes, m.codes) << name(dtype);
        EXPECT_EQ(back->scales, m.scales);
        EXPECT_EQ(back->zero_points, m.zero_points);
        EXPECT_EQ(dequantize(*back), dequantize(m));
        const auto again = pack(*back);
        ASSERT_TRUE(again);
        EXPECT_EQ(again->codes, p->codes);
        EXPECT_EQ(again->scales, p->scales);
        EXPECT_EQ(again->zeros, p->zeros);
      }
}

// Every bit pattern that a code may have, also those that encoders do not emit.
TEST(Packing, every_code_comes_back) {  // D-10
  for (std::size_t t = 0; t < kNumTypes; ++t) {
    const DType dtype = kDTypes[t].dtype;
    QuantizedMatrix m = sample(dtype, 1, 256);
    const std::size_t bits = info(dtype).bits;
    std::vector<std::byte> codes(packed_bytes(dtype, 1, 256).value());
    for (std::size_t i = 0; i < codes.size(); ++i)
      codes[i] = static_cast<std::byte>(bits == 8 ? i : splitmix(t, i) >> 56);
    if (dtype == DType::ternary)
      for (std::byte& b : codes) b &= ~(b << 1 & std::byte{0xaa}) | std::byte{0x55};  // 3 becomes 1
    const auto p = pack(m);
    ASSERT_TRUE(p);
    const auto back = unpack(dtype, 1, 256, m.span, codes, p->scales, p->zeros);
    ASSERT_TRUE(back) << name(dtype) << ": " << back.error().text();
    EXPECT_EQ(pack(*back)->codes, codes) << name(dtype);
  }
}

TEST(Packing, examples_by_hand) {  // D-10
  QuantizedMatrix m = sample(DType::int4, 1, 3);
  m.codes = {std::byte{0xf8}, std::byte{7}, std::byte{0xff}};  // -8 7 -1
  const auto nibbles = pack(m)->codes;
  ASSERT_EQ(nibbles.size(), 16u);
  EXPECT_EQ(nibbles[0], std::byte{0x78});
  EXPECT_EQ(nibbles[1], std::byte{0x0f});
  m = sample(DType::ternary, 1, 5);
  m.codes = {std::byte{0xff}, std::byte{0}, std::byte{1}, std::byte{1}, std::byte{0xff}};
  const auto crumbs = pack(m)->codes;
  ASSERT_EQ(crumbs.size(), 8u);
  EXPECT_EQ(crumbs[0], std::byte{0b10100100});
  EXPECT_EQ(crumbs[1], std::byte{0b01010100});  // filled up with the code of 0
  m = sample(DType::binary, 1, 3);
  m.codes = {std::byte{1}, std::byte{0xff}, std::byte{1}};
  EXPECT_EQ(pack(m)->codes, (std::vector<std::byte>{std::byte{5}, {}, {}, {}}));
}

TEST(Packing, sizes) {  // D-10
  EXPECT_EQ(packed_bytes(DType::float64, 3, 33).value(), 3u * 64 * 8);
  EXPECT_EQ(packed_bytes(DType::int4, 3, 33).value(), 3u * 32);
  EXPECT_EQ(packed_bytes(DType::binary, 3, 1).value(), 3u * 4);
  EXPECT_EQ(packed_bytes(DType::q4_0, 3, 64).value(), 3u * 36);  // as in GGUF
  EXPECT_EQ(packed_bytes(DType::q4_0, 3, 33).error().code, Code::ShapeMismatch);
  EXPECT_EQ(packed_bytes(DType::int4, 0, 33).error().code, Code::ShapeMismatch);
  EXPECT_EQ(packed_bytes(DType::int64, std::size_t{1} << 40, std::size_t{1} << 40).error().code, Code::SizeOverflow);
  EXPECT_EQ(packed_bytes(DType::int8, 1, ~std::size_t{0}).error().code, Code::SizeOverflow);
  EXPECT_EQ(span_count(DType::int4, 3, 33, {Granularity::Group, 32}).value(), 6u);
  EXPECT_EQ(span_count(DType::float32, 3, 33, {Granularity::Row}).value(), 0u);
  EXPECT_EQ(span_count(DType::int4, 3, 33, {Granularity::Group, 16}).error().code, Code::ShapeMismatch);
}

TEST(Packing, refuses_what_is_no_matrix) {  // D-24
  const QuantizedMatrix m = sample(DType::uint4, 2, 33);
  const PackedMatrix p = pack(m).value();
  const auto code_of = [&](const PackedMatrix& q, DType dtype = DType::uint4, std::size_t cols = 33) {
    const auto got = unpack(dtype, 2, cols, {}, q.codes, q.scales, q.zeros);
    return got ? Code{} : got.error().code;
  };
  EXPECT_EQ(code_of(p), Code{});
  EXPECT_EQ(code_of(p, DType::uint4, 65), Code::ShapeMismatch);
  EXPECT_EQ(code_of(p, DType::int4), Code::ShapeMismatch);  // has no zero points
  EXPECT_EQ(code_of(p, DType::q4_0, 32), Code::InvalidArgument);
  PackedMatrix bad = p;
  bad.codes.back() ^= std::byte{0x10};
  EXPECT_EQ(code_of(bad), Code::CorruptData);  // filling
  bad = p;
  store_le(bad.scales.data(), std::uint32_t{0x7f800000});
  EXPECT_EQ(code_of(bad), Code::NonFinite);
  bad = p;
  bad.zeros[0] = std::byte{16};
  EXPECT_EQ(code_of(bad), Code::CorruptData);
  PackedMatrix ternary = pack(sample(DType::ternary, 2, 32)).value();
  ternary.codes[3] |= std::byte{0x0c};
  EXPECT_EQ(code_of(ternary, DType::ternary, 32), Code::CorruptData);

  QuantizedMatrix wrong = m;
  wrong.codes[5] = std::byte{16};
  EXPECT_EQ(pack(wrong).error().code, Code::InvalidArgument);
  wrong = m;
  wrong.zero_points[0] = -1;
  EXPECT_EQ(pack(wrong).error().code, Code::InvalidArgument);
  wrong = m;
  wrong.scales.pop_back();
  EXPECT_EQ(pack(wrong).error().code, Code::InvalidArgument);
  wrong = sample(DType::binary, 1, 4);
  wrong.codes[0] = std::byte{0};
  EXPECT_EQ(pack(wrong).error().code, Code::InvalidArgument);
}

}  // namespace
}  // namespace loom
