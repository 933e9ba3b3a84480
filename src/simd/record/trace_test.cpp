#include "simd/record/trace.h"

#include <cstdlib>

#include "simd/record/math_functions.h"
#include "support/files.h"

namespace loom::recorder {
namespace {

Node add(Node a, Node b) { return operation(Kind::Float, "add($, $)", a, b); }
Node mul(Node a, Node b) { return operation(Kind::Float, "mul($, $)", a, b); }

TEST(Trace, a_kernel_becomes_statements) {
  const std::string text = traced([](Trace& t) {
    const Node a = load(t.operand(0)), b = load(t.operand(1));
    store(t.operand(2), add(mul(a, b), constant(0.5f)));
  });
  EXPECT_EQ(text, "let x0 = load_0(i);\nlet x1 = load_1(i);\nstore_2(i, add(mul(x0, x1), 0.5f));\n");
}

TEST(Trace, the_same_value_is_computed_once_and_what_nobody_needs_never) {
  const std::string text = traced([](Trace& t) {
    const Node a = load(t.operand(0)), square = mul(a, a);
    mul(square, load(t.operand(7)));
    store(t.operand(1), add(square, mul(a, a)));
  });
  EXPECT_EQ(text, "let x0 = load_0(i);\nlet v0 = mul(x0, x0);\nstore_1(i, add(v0, v0));\n");
}

TEST(Trace, memory_of_the_kernel_gives_back_what_was_stored) {
  const std::string text = traced([](Trace& t) {
    float piece[kLanes];
    store(piece, mul(load(t.operand(0)), constant(3.0f)));
    store(t.operand(1), load(piece));
    store(piece, load(t.operand(1)));  // an operand as well
    store(t.operand(1), add(load(piece), constant(1.0f)));
  });
  EXPECT_EQ(text, "let x0 = load_0(i);\nstore_1(i, add(mul(x0, 3.0f), 1.0f));\n");
}

TEST(Trace, numbers_stand_for_parameters_also_through_doubles) {
  const std::string text = traced([](Trace& t) {
    const double factor = t.number(3);
    const float third = t.operand(1)[2];
    store(t.operand(0), mul(constant(static_cast<float>(-factor)), constant(third)));
  });
  EXPECT_EQ(text, "store_0(i, mul(neg(param(3)), load_1(2)));\n");
}

TEST(Trace, constants) {
  const std::string text = traced([](Trace& t) {
    const float values[] = {-1.0f,
                            0x1.715476p+0f,
                            0x1p-51f,
                            -0.0f,
                            0x1p30f,
                            __builtin_huge_valf(),
                            -__builtin_huge_valf(),
                            __builtin_nanf("")};
    for (std::size_t i = 0; i < std::size(values); ++i) store(t.operand(i), constant(values[i]));
    store(t.operand(8), operation(Kind::Float, "to_float_i($)", constant(std::int32_t{-5})));
    store(t.operand(9), operation(Kind::Float, "bitcast<f32>($)", constant(std::int32_t{0x7fc00000})));
    store(t.operand(10), operation(Kind::Float, "to_float_i($)", constant(INT32_MIN)));
  });
  EXPECT_EQ(text,
            "store_0(i, -1.0f);\nstore_1(i, 0x1.715476p+0f);\nstore_2(i, 0x1p-51f);\n"
            "store_3(i, bitcast<f32>(0x80000000u));\nstore_4(i, 0x1p+30f);\nstore_5(i, infinity());\n"
            "store_6(i, neg(infinity()));\nstore_7(i, quiet_nan());\nstore_8(i, to_float_i(-5));\n"
            "store_9(i, quiet_nan());\nstore_10(i, to_float_i(-0x80000000));\n");
}

TEST(Trace, lines_are_not_long) {
  const std::string text = traced([](Trace& t) {
    Node sum = constant(1.0f);
    for (int i = 0; i < 40; ++i) sum = add(mul(sum, load(t.operand(0))), constant(static_cast<float>(i)));
    store(t.operand(1), sum);
  });
  for (std::size_t at = 0, end; at < text.size(); at = end + 1) {
    end = text.find('\n', at);
    EXPECT_LT(end - at, 120u) << text.substr(at, end - at);
  }
}

TEST(TraceDeathTest, what_has_no_form) {
  const auto with_number = [](float (*f)(float)) {
    traced([&](Trace& t) { store(t.operand(0), constant(f(t.number(0)))); });
  };
  const char* const kSaid = "computed with";
  EXPECT_DEATH(with_number([](float x) { return 1.0f - x; }), kSaid);
  EXPECT_DEATH(with_number([](float x) { return x + 1e-8f; }), kSaid);
  EXPECT_DEATH(with_number([](float x) { return 2.0f * x; }), kSaid);
  EXPECT_DEATH(with_number([](float x) { return 1.0f / x; }), kSaid);
  EXPECT_DEATH(with_number([](float x) { return x * x; }), kSaid);
  EXPECT_DEATH(with_number([](float x) { return __builtin_sqrtf(x); }), kSaid);
  EXPECT_DEATH(with_number([](float x) { return x < 1.0f ? 1.0f : 0.0f; }), kSaid);
  EXPECT_DEATH(traced([](Trace& t) { store(t.operand(0), constant(3.0f * t.operand(1)[1])); }), kSaid);
  EXPECT_DEATH(traced([](Trace&) {}), "results_");
  EXPECT_DEATH(traced([](Trace& t) {
                 const float unknown[kLanes] = {};
                 store(t.operand(0), load(unknown));
               }),
               "stored_");
}

// The functions that templates call: one argument each, and nothing but the prelude's functions for floats.
TEST(Trace, math_functions) {
  std::string all;
  const auto check = [&](std::string_view name, const char* arguments) {
    const std::string text = math_function(name);
    EXPECT_TRUE(text.starts_with(fmt::format("fn {}({}) -> f32 {{\n  let v0 = ", name, arguments))) << text;
    EXPECT_TRUE(text.ends_with(";\n}\n")) << text;
    all += text;
  };
  for (const MathFunction& function : kMathFunctions) check(function.name, "x0: f32");
  check("pow_f", "x0: f32, x1: f32");
  const std::string path = test::binary_path("math_functions.wgsl");
  test::write_all(path, all);
  EXPECT_EQ(std::system(("python3 -B " + test::source_path("tools/wgsl_lint.py") + " " + path).c_str()), 0);
}

}  // namespace
}  // namespace loom::recorder
