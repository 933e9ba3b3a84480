// Specs in a thread with little stack.

#include <gtest/gtest.h>

#include "core/json.h"
#include "network/spec/spec.h"
#include "support/small_stack.h"

namespace loom {
namespace {

std::string nested_spec(int depth, const std::string& before, const std::string& behind) {
  std::string layer = R"("type":"dense","input_height":3,"output_height":3})";
  for (int i = 0; i < depth; ++i) layer = before + "{" + layer + behind;
  return R"({"depth":1,"rows":1,"cols":1,"layers_per_cell":1,"input_shape":[3],"layers":[{"z":0,"y":0,"x":0,"l":0,)" +
         layer + "]}";
}

std::string outcome_of_spec(const std::string& text) {
  const auto spec = network_from_json(text);
  if (!spec) return spec.error().code == Code::NestingTooDeep ? "too deep" : spec.error().text();
  return dump_json(network_to_json(spec->network));
}

TEST(SmallStack, specs_that_nest_deeply_are_read_or_refused) {  // J-23
  for (const int depth : {1, 8, 20, 40, 63, 64, 65, 120})
    for (const auto& [before, behind] :
         {std::pair(R"("type":"sequential","sequential_layers":[)", "]}"),
          std::pair(R"("type":"parallel","combine_mode":"add","parallel_branches":[)", "]}"),
          std::pair(R"("type":"metacognition","meta_observed_layer":)", "}")}) {
      const std::string text = nested_spec(depth, before, behind), large = outcome_of_spec(text);
      EXPECT_EQ(large == "too deep", depth > 64) << depth << ": " << large.substr(0, 200);
      for (const std::size_t bytes : {test::kSmallStack, test::kSmallStack * 3 / 2}) {
        std::string small;
        test::on_small_stack([&] { small = outcome_of_spec(text); }, bytes);
        EXPECT_TRUE(small == large || small == "too deep") << depth << ": " << small.substr(0, 200);
        if (depth <= 20) {
          EXPECT_EQ(small, large) << depth;
        }
      }
    }
}

}  // namespace
}  // namespace loom
