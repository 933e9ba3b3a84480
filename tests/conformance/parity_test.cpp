// Every kind in every type against the f64 pass over its decoded weights, where that pass is what the arithmetic
// promises: float and wide types always, integer types where the rounding of their inputs is switched off or loses
// nothing. Only the roundings of f32 sums differ between the two. The products themselves are held to integer
// loops bit by bit in src/ops/matmul/matmul_test.cpp.

#include <gtest/gtest.h>

#include <set>

#include "core/philox.h"
#include "verify/golden_parity.h"

namespace loom {
namespace {

constexpr double kFloatBound = 2e-5;  // of the largest value: parity_bound() of float32

void expect_parity(const GoldenLayer& c, DType dtype, std::span<const float> input) {
  SCOPED_TRACE(std::string(c.name) + " " + std::string(name(dtype)));
  const auto network = golden_network(c, dtype);
  ASSERT_TRUE(network) << network.error().text();
  const auto exact = run_golden_exact(c, *network, input), actual = run_golden(c, *network, input);
  ASSERT_TRUE(exact) << exact.error().text();
  ASSERT_TRUE(actual) << actual.error().text();
  const ParityResult result = compare_parity(actual->y, exact->y, kFloatBound);
  EXPECT_NE(result.parity, Parity::Beyond) << result.error;
}

TEST(Parity, every_kind_and_type_without_rounded_inputs_is_the_f64_pass) {  // D-34, D-35
  for (const GoldenLayer& c : golden_layers()) {
    if (!c.typed) continue;
    std::string spec(c.spec);
    constexpr std::string_view kType = R"("type":)";
    for (std::size_t at = 0; (at = spec.find(kType, at)) != std::string::npos;) {
      spec.insert(at, R"("activation_quant":"none",)");
      at += kType.size() + 26;
    }
    GoldenLayer plain = c;
    plain.spec = spec;
    for (std::size_t t = 0; t < kNumTypes; ++t) expect_parity(plain, static_cast<DType>(t), golden_input(c));
  }
}

// Inputs of -1, 0 and 1 are whole codes in every row, group and patch, whatever their scale: -127, 0 and 127, or 32512.
// So the integers that the kernels add are exact, and kinds whose products all meet the input differ from f64 by f32
// sums alone.
TEST(Parity, inputs_that_rounding_leaves_alone_give_the_f64_pass) {  // D-33, D-35
  const std::set<std::string_view> direct = {
      "dense", "cnn1", "cnn2", "cnn3",   "convtransposed1", "convtransposed2", "convtransposed3",
      "rnn",   "lstm", "gru",  "kmeans", "lora cnn2",       "parallel concat", "parallel grid_scatter"};
  std::size_t seen = 0;
  for (const GoldenLayer& given : golden_layers()) {
    if (!direct.contains(given.name)) continue;
    ++seen;
    GoldenLayer c = given;
    // One step: the state that the second product meets is 0.
    if (c.name == "rnn" || c.name == "lstm" || c.name == "gru") c.input[1] = 1;
    std::size_t elements = 1;
    for (const std::size_t extent : c.input) elements *= extent;
    const RandomStream stream{31, RandomDomain::Noise, 0, random_site(c.name)};
    std::vector<float> input(elements);
    for (std::size_t i = 0; i < elements; ++i) input[i] = static_cast<float>(stream.below(i, 3)) - 1.0f;
    for (std::size_t t = 0; t < kNumTypes; ++t) expect_parity(c, static_cast<DType>(t), input);
  }
  EXPECT_EQ(seen, direct.size());
}

}  // namespace
}  // namespace loom
