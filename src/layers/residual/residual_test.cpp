#include "layers/running_test.h"

namespace loom {
namespace {

// In a list a residual adds the input of the child before it, unless skip_from names another one.
TEST(Residual, adds_its_source_and_hands_the_gradient_to_both) {  // V-31, L-110
  const Shape shape = Shape::of({1, 2});
  const float x[] = {-1, 2}, dy[] = {3, 5};
  const std::pair<const char*, std::vector<float>> cases[] = {{R"({"type":"residual"})", {0, 4}},
                                                              {R"({"type":"residual","skip_from":0})", {-1, 4}},
                                                              {R"({"type":"residual","skip_from":"none"})", {0, 2}}};
  const std::vector<float> gradients[] = {{0, 10}, {3, 10}, {0, 5}};
  for (std::size_t i = 0; i < 3; ++i) {
    const std::string relu = R"({"type":"activation","activation":"relu"})";
    const std::string spec =
        R"({"type":"sequential","sequential_layers":[)" + relu + "," + relu + "," + cases[i].first + "]}";
    const auto r = test::running(spec.c_str(), shape).value();
    EXPECT_EQ(test::values(*r.session->forward({x, shape})), cases[i].second) << spec;
    EXPECT_EQ(test::values(*r.session->backward({dy, shape})), gradients[i]) << spec;
  }
}

}  // namespace
}  // namespace loom
