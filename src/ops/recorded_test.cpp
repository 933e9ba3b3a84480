// The texts of shaders that are recorded from kernels. Tests on devices compare their bits with the kernels'; these
// tests check that a text is complete, and that the lint of shaders finds nothing in it.

#include "ops/recorded.h"

#include <cstdlib>

#include "ops/elementwise/elementwise.h"
#include "ops/gap/gap.h"
#include "ops/recurrent/recurrent.h"
#include "ops/update/update.h"
#include "ops/velocity/velocity.h"
#include "simd/record/trace.h"
#include "support/files.h"

namespace loom {
namespace {

using recorder::Trace;
using recorder::traced;

// Texts of one file, each in a block of its own.
class Texts {
 public:
  template <class F>
  std::string add(F&& call) {
    const std::string text = traced(call);
    all_ += "{\n" + text + "}\n";
    return text;
  }
  // `stored` are all operands that the call writes.
  template <class F>
  void add(F&& call, std::initializer_list<int> stored) {
    const std::string text = add(call);
    for (const int k : stored)
      EXPECT_NE(text.find("store_" + std::to_string(k) + "(i, "), std::string::npos) << k << ":\n" << text;
    EXPECT_EQ(count(text, "store_"), stored.size()) << text;
  }
  void lint(const std::string& name) const {
    const std::string path = test::binary_path("traced_" + name + ".wgsl");
    test::write_all(path, all_);
    EXPECT_EQ(std::system(("python3 -B " + test::source_path("tools/wgsl_lint.py") + " " + path).c_str()), 0);
  }

 private:
  static std::size_t count(const std::string& text, const std::string& word) {
    std::size_t found = 0;
    for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++found;
    return found;
  }
  std::string all_;
};

TEST(Recorded, plain_kernels) {
  const auto& k = record::elementwise_kernels.f32;
  EXPECT_EQ(traced([&](Trace& t) { k.add(t.operand(0), t.operand(1), t.n(), t.operand(2)); }),
            "let x0 = load_0(i);\nlet x1 = load_1(i);\nstore_2(i, snap(add(x0, x1)));\n");
  EXPECT_EQ(traced([&](Trace& t) { k.scale(t.operand(0), t.number(0), t.n(), t.operand(1)); }),
            "let x0 = load_0(i);\nstore_1(i, snap(mul(x0, param(0))));\n");
  EXPECT_EQ(traced([&](Trace& t) { k.divide(t.operand(0), t.number(0), t.n(), t.operand(1)); }),
            "let x0 = load_0(i);\nstore_1(i, snap(div(x0, param(0))));\n");
  EXPECT_EQ(traced([&](Trace& t) { k.fill(t.number(0), t.n(), t.operand(0)); }), "store_0(i, param(0));\n");
}

// A kernel that goes in pieces, with memory of its own between two others.
TEST(Recorded, gated) {
  const auto& k = record::elementwise_kernels.f32;
  EXPECT_EQ(traced([&](Trace& t) { k.gated(Activation::Relu, t.operand(0), t.operand(1), t.n(), t.operand(2)); }),
            "let x0 = load_0(i);\nlet x1 = load_1(i);\nstore_2(i, snap(mul(snap(max_f(x0, 0.0f)), x1)));\n");
}

TEST(Recorded, every_activation_both_ways) {
  const auto& k = record::elementwise_kernels.f32;
  Texts texts;
  for (std::size_t i = 0; i < kNumActivations; ++i) {
    const auto with = [&](Trace& t) {
      ActivationFn fn = static_cast<Activation>(i);
      fn.leaky_slope = t.number(0), fn.elu_alpha = t.number(0);
      return fn;
    };
    texts.add([&](Trace& t) { k.activate(with(t), t.operand(0), t.n(), t.operand(1)); }, {1});
    texts.add([&](Trace& t) { k.activate_backward(with(t), t.operand(0), t.operand(1), t.n(), t.operand(2)); }, {2});
    texts.add([&](Trace& t) { k.gated(with(t), t.operand(0), t.operand(1), t.n(), t.operand(2)); }, {2});
    texts.add(
        [&](Trace& t) {
          k.gated_backward(with(t), t.operand(0), t.operand(1), t.operand(2), t.n(), t.operand(3), t.operand(4));
        },
        {3, 4});
  }
  texts.lint("activations");
}

TEST(Recorded, every_update) {
  Texts texts;
  for (std::size_t kind = 0; kind < kNumUpdates; ++kind) {
    const auto rule_of = [](Trace& t) {
      UpdateNumbers<float> rule{};
      float* const numbers[] = {&rule.rate,  &rule.decay,    &rule.shrink,   &rule.beta1,   &rule.beta2,
                                &rule.alpha, &rule.eps,      &rule.momentum, &rule.rest1,   &rule.rest2,
                                &rule.rest,  &rule.undamped, &rule.correct1, &rule.correct2};
      for (std::size_t i = 0; i < std::size(numbers); ++i) *numbers[i] = t.number(i);
      return rule;
    };
    const std::string text = texts.add([&](Trace& t) {
      const UpdateRun<float> run{t.operand(0), t.operand(1), {t.operand(2), t.operand(3), t.operand(4)}, t.n()};
      record::update_kernels.f32.update[kind](rule_of(t), run);
    });
    EXPECT_TRUE(text.find("store_0(i, snap(") != text.npos && text.find("param(0)") != text.npos) << text;
  }
  texts.lint("updates");
}

TEST(Recorded, every_cell) {
  const auto tensor = [](Trace& t, std::size_t k) { return Tensor{t.operand(k), 1, t.n(), Element::f32}; };
  const auto shape = [](CellKind cell) { return CellShape{cell, 1, 1, Trace::n(), nullptr}; };
  Texts texts;
  for (std::size_t cell = 0; cell < kNumCells; ++cell) {
    const auto kind = static_cast<CellKind>(cell);
    const auto forward = [&](Trace& t) {
      CellForward task;
      task.shape = shape(kind), task.bias_hh = t.operand(12), task.h = tensor(t, 13), task.c = tensor(t, 14);
      for (std::size_t k = 0; k < kMaxGates; ++k)
        task.x_products[k] = tensor(t, k), task.h_products[k] = tensor(t, 4 + k), task.bias[k] = t.operand(8 + k);
      record::cell_kernels.f32.forward[cell](task, 0, 0, 1);
    };
    // Gates side by side are operands one after another.
    const auto backward = [&](Trace& t) {
      CellBackward task;
      task.shape = shape(kind), task.dh = tensor(t, 8), task.dc = tensor(t, 9);
      for (std::size_t k = 0; k < kMaxGates; ++k) task.trace.gates[k] = tensor(t, k), task.dsums[k] = tensor(t, 10 + k);
      task.trace.h_before = tensor(t, 4), task.trace.c_before = tensor(t, 5), task.trace.tanh_c = tensor(t, 6);
      task.dstep = {t.operand(14), 1, 4 * t.n(), Element::f32};
      record::cell_kernels.f32.backward[cell](task, 0, 0, 1);
    };
    switch (kind) {
      case CellKind::Lstm:
        texts.add(forward, {13, 14});
        texts.add(backward, {8, 9, 10, 11, 12, 13, 14, 15, 16, 17});
        break;
      case CellKind::Gru:
        texts.add(forward, {13});
        texts.add(backward, {8, 10, 11, 12, 13, 14, 15, 16});
        break;
      default: texts.add(forward, {13}), texts.add(backward, {8, 10, 14});
    }
  }
  texts.lint("cells");
}

TEST(Recorded, gaps_and_velocities) {
  const auto& gap = record::gap_kernels.f32;
  const auto& velocity = record::velocity_kernels.f32;
  Texts texts;
  texts.add([&](Trace& t) { gap.ends(t.operand(0), t.operand(1), t.n(), t.operand(2), t.operand(3)); }, {2, 3});
  texts.add([&](Trace& t) { gap.secant(t.operand(0), t.operand(1), t.operand(2), t.operand(3), t.n(), t.operand(4)); },
            {4});
  texts.add([&](Trace& t) { gap.with_sign(t.operand(0), t.operand(1), t.n(), t.operand(2)); }, {2});
  texts.add([&](Trace& t) { gap.close(t.operand(0), t.number(0), true, t.operand(1), t.n(), t.operand(2)); }, {2});
  texts.add([&](Trace& t) { velocity.products(t.operand(0), t.operand(1), t.n(), t.operand(2)); }, {2});
  texts.add([&](Trace& t) { velocity.scaled(t.number(0), t.operand(0), t.n(), t.operand(1)); }, {1});
  texts.lint("gaps");
  // A number of the host's, negated; a NaN stays.
  EXPECT_EQ(traced([&](Trace& t) { gap.clamp(t.number(0), nullptr, t.n(), t.operand(0)); }),
            "let x0 = load_0(i);\nlet v0 = neg(param(0));\n"
            "store_0(i, snap(select_f(less(x0, v0), v0, select_f(greater(x0, param(0)), param(0), x0))));\n");
}

TEST(RecordedDeathTest, sums_across_lanes_have_no_form) {
  EXPECT_DEATH(
      traced([](Trace& t) { record::gap_kernels.f32.simplex(t.operand(0), t.operand(1), t.n(), t.operand(2)); }),
      "across lanes");
}

}  // namespace
}  // namespace loom
