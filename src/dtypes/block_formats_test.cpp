#include "dtypes/block_formats.h"

#include <cmath>
#include <limits>

#include "dtypes/float16.h"
#include "dtypes/golden_test.h"

namespace loom {
namespace {

constexpr std::size_t kBlocks = 96;
constexpr std::uint16_t kEdges[] = {0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x0400, 0x7bff, 0xfbff};

struct Format {
  DType dtype;
  std::vector<std::size_t> scales_at;  // offsets of the f16 scales in a block
};
const std::vector<Format>& formats() {
  static const std::vector<Format> all = {{DType::q4_0, {0}},    {DType::q4_1, {0, 2}}, {DType::q5_0, {0}},
                                          {DType::q5_1, {0, 2}}, {DType::q8_0, {0}},    {DType::q2_k, {80, 82}},
                                          {DType::q3_k, {108}},  {DType::q4_k, {0, 2}}, {DType::q5_k, {0, 2}},
                                          {DType::q6_k, {208}},  {DType::tq1_0, {52}},  {DType::tq2_0, {64}},
                                          {DType::mxfp4, {}}};
  return all;
}

// As block_bytes() of tools/golden/dtypes.py.
std::vector<std::byte> random_blocks(const Format& format, std::size_t format_index) {
  const std::size_t size = info(format.dtype).block_bytes;
  std::vector<std::byte> raw(kBlocks * size);
  for (std::size_t i = 0; i < raw.size(); ++i) raw[i] = static_cast<std::byte>(splitmix(1000 + format_index, i) >> 56);
  for (std::size_t b = 0; b < kBlocks; ++b)
    for (std::size_t k = 0; k < format.scales_at.size(); ++k) {
      std::byte* at = raw.data() + b * size + format.scales_at[k];
      auto h = load_le<std::uint16_t>(at);
      if (b % 8 == 0)
        h = kEdges[(b / 8 + k) % 8];
      else if ((h & 0x7c00) == 0x7c00)
        h = static_cast<std::uint16_t>(h & 0xbfff);
      store_le(at, h);
    }
  return raw;
}

// Like weights() of tools/golden/dtypes.py.
std::vector<float> test_weights(std::size_t n) {
  std::vector<float> x(n);
  for (std::size_t i = 0; i < n; ++i)
    x[i] = (static_cast<float>(splitmix(7, i) >> 40) * 0x1p-24f - 0.5f) *
           std::ldexp(1.0f, static_cast<int>(i / 256 % 24) - 12);
  for (std::size_t i = 0; i < n; ++i) {
    if (i % 512 < 32)
      x[i] = 0.75f;
    else if (i % 512 < 64)
      x[i] = 0.0f;
    else if (i % 512 < 96)
      x[i] = i % 2 == 0 ? -1.5f : 1.5f;
  }
  return x;
}

TEST(BlockFormats, decodes_as_the_reference_does) {  // D-26
  for (std::size_t f = 0; f < formats().size(); ++f) {
    const Format& format = formats()[f];
    const std::string type(name(format.dtype));
    const auto raw = random_blocks(format, f);
    ASSERT_EQ(digest(raw), golden_text("blocks", type, "bytes")) << type;
    const std::size_t elements = info(format.dtype).block_elements;
    std::vector<float> values(kBlocks * elements);
    decode_block_row(format.dtype, raw.data(), values.data(), values.size());
    const Json& row = golden_dtypes()["blocks"][type]["row"];
    for (std::size_t i = 0; i < 16; ++i)
      EXPECT_EQ(fmt::format("{:08x}", std::bit_cast<std::uint32_t>(values[elements + i])), *as_string(row[i]))
          << type << " element " << i;
    EXPECT_EQ(digest(values), golden_text("blocks", type, "values")) << type;
    for (const float v : values)
      ASSERT_EQ(std::bit_cast<std::uint32_t>(v), std::bit_cast<std::uint32_t>(snapped(v))) << type;
  }
}

TEST(BlockFormats, parts_lie_in_the_stated_ranges) {  // D-26
  for (std::size_t f = 0; f < formats().size(); ++f) {
    const DType dtype = formats()[f].dtype;
    const BlockLayout& layout = block_layout(dtype);
    const auto raw = random_blocks(formats()[f], f);
    int low = 0, high = 0;
    for (std::size_t b = 0; b < kBlocks; ++b) {
      std::int8_t codes[kMaxBlockElements];
      float scales[kMaxSubBlocks], mins[kMaxSubBlocks];
      unpack_block(dtype, raw.data() + b * info(dtype).block_bytes, codes, scales, mins);
      for (std::size_t e = 0; e < layout.elements; ++e)
        low = std::min<int>(low, codes[e]), high = std::max<int>(high, codes[e]);
      for (std::size_t s = 0; s < layout.sub_blocks(); ++s) {
        const float size = std::abs(scales[s]);
        ASSERT_TRUE(size == 0.0f || size >= 0x1p-24f) << name(dtype);  // numerics 1.2
        if (!layout.has_min) {
          ASSERT_EQ(std::bit_cast<std::uint32_t>(mins[s]), 0u);
        }
      }
    }
    EXPECT_EQ(low, layout.code_low) << name(dtype);
    EXPECT_EQ(high, layout.code_high) << name(dtype);
  }
}

TEST(BlockFormats, encodes_the_bytes_of_the_reference) {  // F-41
  const auto x = test_weights(std::size_t{1} << 16);
  ASSERT_EQ(digest(x), golden_text("weights", "", ""));
  for (const DType dtype : {DType::q8_0, DType::q4_0, DType::q4_1, DType::tq2_0}) {
    std::vector<std::byte> out(x.size() / info(dtype).block_elements * info(dtype).block_bytes);
    ASSERT_TRUE(encode_block_row(dtype, x, out.data()));
    EXPECT_EQ(digest(out), golden_text("encode", std::string(name(dtype)), "")) << name(dtype);
  }
}

TEST(BlockFormats, EncodeRefusesAndSaturates) {
  std::vector<std::byte> out(1024);
  std::vector<float> x(256, 1.0f);
  EXPECT_EQ(encode_block_row(DType::q4_k, x, out.data()).error().code, Code::Unsupported);
  EXPECT_EQ(encode_block_row(DType::q8_0, std::span(x).first(31), out.data()).error().code, Code::ShapeMismatch);
  for (const float bad :
       {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(), std::nanf("")}) {
    x[37] = bad;
    const auto refused = encode_block_row(DType::q8_0, x, out.data());
    EXPECT_EQ(refused.error().code, Code::NonFinite);
    EXPECT_NE(refused.error().text().find("37"), std::string::npos);
  }
  for (const float size : {std::numeric_limits<float>::max(), 1e30f, 1e10f, 1e-45f, 1e-20f})
    for (const DType dtype : {DType::q8_0, DType::q4_0, DType::q4_1, DType::tq2_0}) {
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = i % 3 == 0 ? -size : size;
      ASSERT_TRUE(encode_block_row(dtype, x, out.data()));
      std::vector<float> back(x.size());
      decode_block_row(dtype, out.data(), back.data(), back.size());
      for (const float v : back) ASSERT_TRUE(std::isfinite(v)) << name(dtype) << " " << size;
    }
}

}  // namespace
}  // namespace loom
