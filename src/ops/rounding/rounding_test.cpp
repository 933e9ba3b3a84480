// Against the scalar codecs of dtypes.

#include "ops/rounding/rounding.h"

#include "dtypes/float16.h"
#include "dtypes/small_float.h"
#include "ops/op_test.h"

namespace loom::op_test::of_rounding {
namespace {

// Numbers about every border of the types: ties, halves, subnormals of f16 and fp8, overflow.
std::vector<float> borders() {
  std::vector<float> v = {0.0f, 65504, 65519.996f, 65520, 65536, 1e30f, 3.3895314e38f, 3.4e38f, 448, 464, 57344, 61440};
  for (int e = -60; e <= 20; ++e)
    for (std::uint32_t m = 0; m < 64; ++m) {
      const float x = std::ldexp(1.0f + static_cast<float>(m) / 64, e);
      v.insert(v.end(), {x, std::nextafter(x, 0.0f), std::nextafter(x, 1e30f), -x});
      v.push_back(std::ldexp(1.0f + (static_cast<float>(m) + 0.5f) / 1024, e));
      v.push_back(std::ldexp(1.0f + (static_cast<float>(m) * 2 + 1) / 4096, e));
      v.push_back(std::ldexp(1.0f + (static_cast<float>(m) * 2 + 1) / 512, e));
    }
  return v;
}

std::vector<float> rounded(const std::vector<float>& x, Mixed mixed, bool gradients) {
  return everywhere(x.size() > 65536 && mixed != Mixed::none, [&](const Exec& exec) {
    std::vector<float> v = x;
    (gradients ? round_gradients : round_activations)(exec, tensor(v, 1, v.size()), mixed);
    return v;
  });
}

template <class F>
std::vector<float> each(std::vector<float> x, F f) {
  for (float& v : x) v = snapped(f(v));
  return x;
}

TEST(Rounding, bf16_and_f16_to_nearest_even) {
  std::vector<std::vector<float>> rows = {borders(), special_values<float>(kShared, 1, 70000)};
  for (const std::size_t n : kSizes) rows.push_back(special_values<float>(n, 2, 1e-6));
  for (const std::vector<float>& x : rows)
    for (const bool gradients : {false, true}) {
      EXPECT_TRUE(same(rounded(x, Mixed::bf16, gradients),
                       each(x, [](float v) { return bfloat16_to_float(float_to_bfloat16(v)); })));
      EXPECT_TRUE(same(rounded(x, Mixed::f16, gradients),
                       each(x, [](float v) { return float16_to_float(float_to_float16(v)); })));
      EXPECT_TRUE(same(rounded(x, Mixed::none, gradients), x));
    }
}

template <class Codec>
std::vector<float> scaled_codec(const std::vector<float>& x) {
  float largest = 0, up = 1;
  for (const float v : x) largest = std::max(largest, std::abs(v));
  const float most = Codec::decode(Codec::kMax);
  while (largest * up > most) up /= 2;
  while (largest * up * 2 <= most && up < 0x1p120f) up *= 2;
  return each(x, [=](float v) { return Codec::decode(Codec::encode(v * up)) / up; });
}

TEST(Rounding, fp8_with_one_power_of_two_per_tensor) {
  std::vector<std::vector<float>> rows = {borders(), values<float>(kShared, 3, 300), {0.0f, 0.0f}};
  std::vector<float> narrow = borders();
  std::erase_if(narrow, [](float v) { return std::abs(v) > 500 || std::abs(v) < 1e-4f; });
  rows.push_back(narrow);
  for (const std::size_t n : kSizes)
    for (const double size : {1e-12, 0.3, 449.0, 1e20}) rows.push_back(values<float>(n, 4, size));
  for (const std::vector<float>& x : rows) {
    const bool zero = std::all_of(x.begin(), x.end(), [](float v) { return v == 0; });
    EXPECT_TRUE(same(rounded(x, Mixed::fp8, false), zero ? x : scaled_codec<Fp8E4M3>(x)));
    EXPECT_TRUE(same(rounded(x, Mixed::fp8, true), zero ? x : scaled_codec<Fp8E5M2>(x)));
  }
  for (const std::size_t n : kSizes) {  // what holds an infinity or a NaN stays as it is
    std::vector<float> x = values<float>(n, 5);
    x[n / 2] = n % 2 == 0 ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
    EXPECT_TRUE(same(rounded(x, Mixed::fp8, false), x));
  }
  (void)everywhere(false, [&](const Exec& exec) {  // f64 is not rounded
    const std::vector<double> x = values<double>(17, 6);
    std::vector<double> v = x;
    for (const Mixed mixed : {Mixed::bf16, Mixed::f16, Mixed::fp8}) round_activations(exec, tensor(v, 1, 17), mixed);
    EXPECT_TRUE(same(v, x));
    return v;
  });
}

}  // namespace
}  // namespace loom::op_test::of_rounding
