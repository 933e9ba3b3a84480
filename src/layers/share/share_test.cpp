#include <array>
#include <span>

#include "layers/running_test.h"

namespace loom {
namespace {

// A link runs another cell's operation with that cell's weights, which then have the gradients of both uses.
TEST(Share, runs_the_operation_of_its_target) {  // V-20, V-21
  const Shape shape = Shape::of({1, 2});
  auto read = network_from_json(
      R"({"layers":[{"type":"dense","input_height":2,"output_height":2,"bias":true},{"is_remote_link":true,"target_l":0}]})");
  ASSERT_TRUE(read) << read.error().text();
  Network& network = read->network;
  EXPECT_EQ(network.cell(1).front()->kind(), "link");
  Weight* const w = find_weight(*network.cell(0).layer, "weight");
  Weight* const b = find_weight(*network.cell(0).layer, "bias");
  ASSERT_TRUE(w->set(std::span<const float>(std::array{2.0f, 0.0f, 1.0f, 1.0f})));
  ASSERT_TRUE(b->set(std::span<const float>(std::array{0.5f, -1.0f})));
  const auto session = NetworkSession::create(network, shape, {.threads = 1, .isa = {}, .backward = true}).value();
  const float x[] = {1, 3}, dy[] = {1, 0};
  EXPECT_EQ(test::values(*session->forward({x, shape})), (std::vector<float>{5.5f, 4.5f}));  // (2.5, 3) after the first
  EXPECT_EQ(test::values(*session->backward({dy, shape})), (std::vector<float>{4, 0}));
  const auto* const dw = static_cast<const float*>(session->gradients().of(*w));
  EXPECT_EQ((std::vector<float>(dw, dw + 4)), (std::vector<float>{2.5f + 2, 3 + 6, 0, 0}));
}

}  // namespace
}  // namespace loom
