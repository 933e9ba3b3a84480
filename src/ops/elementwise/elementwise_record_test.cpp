// What the kernels write down as shaders; that these compute the kernels' bits is tested on devices.

#include <cstdlib>

#include "ops/elementwise/elementwise.h"
#include "ops/recorded.h"
#include "simd/record/trace.h"
#include "support/files.h"

namespace loom {
namespace {

using recorder::Trace;
using recorder::traced;

TEST(ElementwiseRecord, plain_kernels) {
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
TEST(ElementwiseRecord, gated) {
  const auto& k = record::elementwise_kernels.f32;
  EXPECT_EQ(traced([&](Trace& t) { k.gated(Activation::Relu, t.operand(0), t.operand(1), t.n(), t.operand(2)); }),
            "let x0 = load_0(i);\nlet x1 = load_1(i);\nstore_2(i, snap(mul(snap(max_f(x0, 0.0f)), x1)));\n");
}

TEST(ElementwiseRecord, every_activation_both_ways) {
  const auto& k = record::elementwise_kernels.f32;
  std::string all;
  for (std::size_t i = 0; i < kNumActivations; ++i) {
    const auto with = [&](Trace& t) {
      ActivationFn fn = static_cast<Activation>(i);
      fn.leaky_slope = t.number(0), fn.elu_alpha = t.number(0);
      return fn;
    };
    const std::string texts[] = {
        traced([&](Trace& t) { k.activate(with(t), t.operand(0), t.n(), t.operand(1)); }),
        traced([&](Trace& t) { k.activate_backward(with(t), t.operand(0), t.operand(1), t.n(), t.operand(2)); }),
        traced([&](Trace& t) { k.gated(with(t), t.operand(0), t.operand(1), t.n(), t.operand(2)); }),
        traced([&](Trace& t) {
          k.gated_backward(with(t), t.operand(0), t.operand(1), t.operand(2), t.n(), t.operand(3), t.operand(4));
        })};
    const char* const stores[] = {"store_1(i, ", "store_2(i, ", "store_2(i, ", "store_4(i, "};
    for (std::size_t j = 0; j < 4; ++j) {
      EXPECT_NE(texts[j].find(stores[j]), std::string::npos) << name(static_cast<Activation>(i)) << ":\n" << texts[j];
      all += "{\n" + texts[j] + "}\n";
    }
    EXPECT_NE(texts[3].find("store_3(i, "), std::string::npos) << texts[3];
  }
  const std::string path = test::binary_path("traced_elementwise.wgsl");
  test::write_all(path, all);
  EXPECT_EQ(std::system(("python3 -B " + test::source_path("tools/wgsl_lint.py") + " " + path).c_str()), 0);
}

}  // namespace
}  // namespace loom
