// The casts and quantisations among ONNX's node cases through Loom's codecs (tools/golden/onnx_types.py;
// tests/golden/onnx/types.json).

#include <cmath>
#include <cstring>
#include <set>

#include "core/base64.h"
#include "dtypes/float16.h"
#include "dtypes/golden_test.h"
#include "dtypes/quantize.h"
#include "dtypes/small_float.h"
#include "support/paths.h"

namespace loom {
namespace {

const Json& onnx_cases() {
  static const Json golden = [] {
    const auto text = read_text_file(test::source_path("tests/golden/onnx/types.json"));
    auto parsed = text ? parse_json(*text) : Result<Json>(Json());
    const Json* cases = parsed ? find(*parsed, "cases") : nullptr;
    return cases ? *cases : Json::array();
  }();
  return golden;
}

struct Numbers {
  std::vector<std::size_t> shape;
  std::vector<float> values;
};
Numbers numbers_of(const Json& tensor) {
  Numbers n;
  for (const Json& d : tensor["shape"]) n.shape.push_back(static_cast<std::size_t>(*as_int(d)));
  const auto bytes = base64_decode(*as_string(tensor["f32"]));
  EXPECT_TRUE(bytes);
  n.values.resize(bytes->size() / 4);
  for (std::size_t i = 0; i < n.values.size(); ++i) n.values[i] = load_le<float>(bytes->data() + 4 * i);
  return n;
}

// A matrix of the case's shape, a row for each index of its axis, with its scales and zero points and without codes.
QuantizedMatrix empty_matrix(const Json& c, DType dtype, const Numbers& x) {
  QuantizedMatrix q;
  q.dtype = dtype, q.rows = 1, q.cols = x.values.size(), q.span = {Granularity::Tensor};
  if (const Json* axis = find(c, "axis")) {
    const auto at = static_cast<std::size_t>(*as_int(*axis));
    for (std::size_t before = 0; before < at; ++before) EXPECT_EQ(x.shape[before], 1u);  // rows are contiguous
    q.rows = x.shape[at], q.cols = x.values.size() / q.rows, q.span = {Granularity::Row};
  }
  const std::size_t spans = q.span.granularity == Granularity::Row ? q.rows : 1;
  const Json *scale = find(c, "scale"), *zero = find(c, "zero_point");
  const bool has_scales = info(dtype).bits <= 8 || info(dtype).compute == ComputeClass::Wide;
  const bool has_zeros =
      dtype == DType::uint8 || dtype == DType::uint16 || dtype == DType::uint4 || dtype == DType::uint2;
  for (std::size_t s = 0; s < spans; ++s) {
    if (has_scales) q.scales.push_back(scale ? static_cast<double>(numbers_of(*scale).values[s]) : 1.0);
    const double point = zero ? static_cast<double>(numbers_of(*zero).values[s]) : 0.0;
    if (has_zeros)
      q.zero_points.push_back(static_cast<std::int64_t>(point));
    else
      EXPECT_EQ(point, 0.0);
  }
  return q;
}

bool is_float(DType t) { return info(t).compute == ComputeClass::F32; }

// The number a code stands for, before its scale and with its zero point.
float number_of(DType t, std::int64_t code) {
  switch (t) {
    case DType::float16: return float16_to_float(static_cast<std::uint16_t>(code));
    case DType::bfloat16: return bfloat16_to_float(static_cast<std::uint16_t>(code));
    case DType::fp8e4m3: return Fp8E4M3::decode(static_cast<std::uint8_t>(code));
    case DType::fp8e5m2: return Fp8E5M2::decode(static_cast<std::uint8_t>(code));
    case DType::fp4: return Fp4E2M1::decode(static_cast<std::uint8_t>(code));
    default: return static_cast<float>(code);
  }
}

bool same(float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); }

void check_encoder(const Json& c, DType dtype) {
  const Numbers x = numbers_of(c["x"]), y = numbers_of(c["y"]);
  // weights are (D-05); what a cast makes of others is asked of the small floats' codecs alone
  std::vector<float> finite = x.values;
  for (float& v : finite)
    if (!std::isfinite(v)) v = 0;
  const auto q = quantize_like(empty_matrix(c, dtype, x), finite);
  ASSERT_TRUE(q) << q.error().text();
  for (std::size_t i = 0; i < finite.size(); ++i) {
    if (std::isfinite(x.values[i])) {
      EXPECT_TRUE(same(number_of(dtype, q->code(i)), y.values[i]))
          << i << ": " << x.values[i] << " -> " << number_of(dtype, q->code(i));
    } else if (dtype == DType::fp8e4m3 || dtype == DType::fp8e5m2) {
      const std::uint8_t code = dtype == DType::fp8e4m3 ? Fp8E4M3::encode(x.values[i]) : Fp8E5M2::encode(x.values[i]);
      EXPECT_TRUE(same(number_of(dtype, code), y.values[i])) << i << ": " << x.values[i];
    }
  }
}

void check_decoder(const Json& c, DType dtype) {
  const Numbers x = numbers_of(c["x"]), y = numbers_of(c["y"]);
  QuantizedMatrix q = empty_matrix(c, dtype, x);
  const std::size_t bytes = q.code_bytes();
  for (const float v : x.values) {
    const auto code = static_cast<std::int64_t>(v);
    for (std::size_t k = 0; k < bytes; ++k) q.codes.push_back(static_cast<std::byte>(code >> 8 * k & 255));
  }
  const std::vector<float> values = dequantize(q);
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_TRUE(same(values[i], y.values[i]))
        << i << ": " << x.values[i] << " -> " << values[i] << ", expected " << y.values[i];
    if (is_float(dtype) && !find(c, "scale")) {
      EXPECT_TRUE(same(number_of(dtype, q.code(i)), y.values[i])) << i;
    }
  }
}

TEST(OnnxTypes, casts_and_quantisations_of_the_standard) {  // D-05
  std::size_t encoders = 0, decoders = 0;
  for (const Json& c : onnx_cases()) {
    SCOPED_TRACE(*as_string(c["name"]));
    const Json* to = find(c, "to");
    const auto dtype = dtype_from_name(*as_string(to ? *to : c["dtype"]));
    ASSERT_TRUE(dtype);
    to ? check_encoder(c, *dtype) : check_decoder(c, *dtype);
    ++(to ? encoders : decoders);
  }
  EXPECT_EQ(encoders, 18u);
  EXPECT_EQ(decoders, 31u);
}

// Every case of the three operations stands in one of the two files.
TEST(OnnxTypes, the_others_are_listed_with_a_reason) {
  std::set<std::string> mapped;
  for (const Json& c : onnx_cases()) mapped.insert(*as_string(c["name"]));
  EXPECT_EQ(mapped.size(), 49u);
  const auto text = read_text_file(test::source_path("tests/golden/onnx/unmapped.tsv"));
  ASSERT_TRUE(text);
  std::size_t listed = 0;
  for (std::size_t begin = 0; begin < text->size();) {
    const std::size_t end = text->find('\n', begin);
    const std::string line = text->substr(begin, end - begin);
    begin = end + 1;
    const std::size_t tab = line.find('\t');
    ASSERT_NE(tab, line.npos) << line;
    EXPECT_GT(line.size(), tab + 5) << line;
    EXPECT_EQ(mapped.count(line.substr(0, tab)), 0u) << line;
    for (const char* op : {"test_cast_", "test_quantizelinear", "test_dequantizelinear"})
      listed += line.rfind(op, 0) == 0 ? 1 : 0;
  }
  EXPECT_EQ(listed, 38u);
}

}  // namespace
}  // namespace loom
