// Kinds against ONNX's node cases (tests/golden/onnx, tools/golden/onnx_cases.py).

#include "layers/golden_test.h"

namespace loom {
namespace {

class OnnxNodes : public ::testing::TestWithParam<std::string> {};

// Forward only, and the values there are f32.
TEST_P(OnnxNodes, equals_the_node_cases) {  // L-02
  const Json file = golden_file(test::source_path("tests/golden/onnx/") + GetParam() + ".json");
  ASSERT_GT(file["cases"].size(), 5u);
  for (const Json& j : file["cases"]) {
    // ONNX rounds the y of this case to four decimals, up to 5e-5 of values near 0.1.
    const double bound = j["name"] == "test_averagepool_2d_ceil_last_window_starts_on_pad" ? 1e-3 : 1e-5;
    LayerCase<double>(j, bound).check();
    LayerCase<float>(j, bound).check();
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Families, OnnxNodes,
                         ::testing::Values("activation", "attention_3d", "attention_4d", "attention_gqa",
                                           "attention_mask", "conv", "dense", "norm", "pool", "recurrent", "shape",
                                           "softmax"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace loom
