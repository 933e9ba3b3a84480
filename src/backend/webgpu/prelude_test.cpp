#include "backend/webgpu/prelude.h"

#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <vector>

#include "backend/webgpu/canaries.h"

namespace loom::gpu {
namespace {

TEST(Prelude, every_function_has_a_canary) {
  // magnitude_of, order_of and philox4x32 stand in others; the expressions name them by these.
  const std::set<std::string> inner = {"magnitude_of", "order_of", "philox4x32"};
  std::set<std::string> tried;
  for (const Canary& canary : canaries()) {
    const std::string text = canary.expression;
    const std::regex call("([a-z_0-9]+)\\(");
    for (std::sregex_iterator it(text.begin(), text.end(), call), end; it != end; ++it) tried.insert((*it)[1]);
  }
  for (const auto& [sums, dots] : {std::pair(Sums::Left, Dots::Packed), std::pair(Sums::Kept, Dots::Integers),
                                   std::pair(Sums::Left, Dots::Floats)}) {
    const std::string text = prelude(sums, dots);
    const std::regex function("fn ([a-z_0-9]+)\\(");
    std::size_t count = 0;
    for (std::sregex_iterator it(text.begin(), text.end(), function), end; it != end; ++it, ++count) {
      const std::string name = (*it)[1];
      EXPECT_TRUE(tried.contains(name) || inner.contains(name)) << name;
    }
    EXPECT_GT(count, 30u);
  }
}

// Results of the twins for known values: every device is compared with them.
TEST(Prelude, twins_of_known_values) {
  const auto twin = [](std::string_view name, std::uint32_t a, std::uint32_t b) {
    for (const Canary& canary : canaries())
      if (canary.name == name) return canary.twin(a, b);
    ADD_FAILURE() << name;
    return std::optional<std::uint32_t>();
  };
  constexpr std::uint32_t kOne = 0x3f800000, kThree = 0x40400000, kNan = 0x7fc00001, kInfinity = 0x7f800000;
  EXPECT_EQ(twin("div", kOne, kThree), 0x3eaaaaabu);
  EXPECT_EQ(twin("div", kOne, 0x80000000u), 0xff800000u);
  EXPECT_EQ(twin("div", kInfinity, kInfinity), 0x7fc00000u);
  EXPECT_EQ(twin("div", 0x00ffffffu, 0x40000000u), 0u) << "2^-126 - 2^-150";
  EXPECT_EQ(twin("div", 0x00800000u, 0xc0000000u), 0x80000000u);
  EXPECT_EQ(twin("root", 0x40000000u, 0), 0x3fb504f3u);
  EXPECT_EQ(twin("root", 0xbf800000u, 0), 0x7fc00000u);
  EXPECT_EQ(twin("snap", 0xa5ffffffu, 0), 0u);
  EXPECT_EQ(twin("snap", 0xa6000000u, 0), 0xa6000000u);
  EXPECT_EQ(twin("snap", 0xffffffffu, 0), 0x7fc00000u);
  EXPECT_EQ(twin("max_f", kNan, kOne), kOne);
  EXPECT_EQ(twin("max_f", kOne, kNan), kNan);
  EXPECT_EQ(twin("equal", 0, 0x80000000u), 1u);
  EXPECT_EQ(twin("equal", kNan, kNan), 0u);
  EXPECT_EQ(twin("to_float_i", 0x01000001u, 0), 0x4b800000u) << "a tie";
  EXPECT_EQ(twin("dot_bytes", 0x8080807fu, 0x8080ff80u), 0x4100u);
  EXPECT_EQ(twin("mul", 0x00800000u, 0x3f000000u), std::nullopt) << "a subnormal result";
  EXPECT_EQ(twin("half_to_float", 0x7c00u, 0), std::nullopt);
}

TEST(Prelude, a_fast_one_has_operators_in_place_of_what_is_kept) {
  const std::string text = fast_prelude(Dots::Packed), strict = prelude(Sums::Left, Dots::Packed);
  const std::regex function("\nfn ([a-z_0-9]+)\\(");
  std::multiset<std::string> declared, wanted;
  for (std::sregex_iterator it(text.begin(), text.end(), function), end; it != end; ++it) declared.insert((*it)[1]);
  for (std::sregex_iterator it(strict.begin(), strict.end(), function), end; it != end; ++it) wanted.insert((*it)[1]);
  wanted.insert({"add_kept", "sub_kept"});
  EXPECT_EQ(declared, wanted);
  for (const char* const line :
       {"fn mul(a: f32, b: f32) -> f32 { return a * b; }", "fn root(a: f32) -> f32 { return sqrt(a); }",
        "fn less(a: f32, b: f32) -> bool { return a < b; }", "fn keep(x: f32) -> f32 { return x; }"}) {
    EXPECT_NE(text.find(line), text.npos) << line;
    EXPECT_EQ(strict.find(line), strict.npos) << line;
  }
  EXPECT_EQ(text.find("keep(a"), text.npos);
}

// exp() takes its exponent from the bits of a sum and what is left from the sum less that number again.
TEST(Prelude, a_fast_one_keeps_what_rounds_to_an_integer) {
  EXPECT_EQ(with_rounding_kept("let v0 = add(mul(x0, (x1)), 12582912.0f);\nlet v1 = sub(v0, 12582912.0f);"),
            "let v0 = add_kept(mul(x0, (x1)), 12582912.0f);\nlet v1 = sub_kept(v0, 12582912.0f);");
  const std::string plain = "let v0 = add(x0, 1.0f); let v1 = mul(x0, 12582912.0f);";
  EXPECT_EQ(with_rounding_kept(plain), plain);
}

TEST(Prelude, inputs_of_canaries_hold_what_they_promise) {
  constexpr std::size_t kCount = std::size_t{1} << 18;
  std::vector<std::uint32_t> a(kCount), b(kCount);
  fill_canary_inputs(a, b);
  for (const Canary& canary : canaries()) {
    std::size_t promised = 0;
    for (std::size_t i = 0; i < kCount; ++i) promised += canary.twin(a[i], b[i]).has_value();
    EXPECT_GT(promised, kCount / 2) << canary.name;
  }
}

}  // namespace
}  // namespace loom::gpu
