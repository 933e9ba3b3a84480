#include "host/compare.h"

#include "core/json.h"
#include "network/spec/spec.h"
#include "support/files.h"
#include "support/small_network.h"

namespace loom::host_compare_test {
namespace {

Network network_of(const std::string& text) {
  auto made = network_from_json(text);
  EXPECT_TRUE(made) << made.error().text();
  return std::move(made->network);
}
std::string spec(int seed, int hidden = 8) {
  return fmt::format(
      R"({{"seed":{},"layers":[{{"type":"dense","input_height":2,"output_height":{},"activation":"tanh"}},
    {{"type":"dense","input_height":{},"output_height":3}}]}})",
      seed, hidden, hidden);
}

TEST(Compare, a_network_equals_itself) {
  const Network a = network_of(test::kTwoLayers), b = network_of(test::kTwoLayers);
  const NetworkComparison c = compare_networks(a, b);
  EXPECT_TRUE(c.equal);
  EXPECT_EQ(c.weights.size(), 2u);  // no biases
  for (const WeightDifference& d : c.weights) {
    EXPECT_TRUE(d.equal) << d.path;
    EXPECT_EQ(d.largest, 0) << d.path;
  }
  EXPECT_EQ(to_json(c)["equal"], true);
  EXPECT_EQ(to_json(c)["weights"].size(), 2u);
}

TEST(Compare, other_weights_are_measured) {
  const NetworkComparison c = compare_networks(network_of(spec(1)), network_of(spec(2)));
  EXPECT_FALSE(c.equal);
  const WeightDifference& first = c.weights[0];
  EXPECT_FALSE(first.equal);
  EXPECT_GT(first.largest, 0);
  EXPECT_LT(first.cosine, 1);
  EXPECT_EQ(to_json(first)["largest_difference"], first.largest);
}

TEST(Compare, another_type_is_a_difference) {
  const Network a = network_of(spec(1));
  Network b = network_of(spec(1));
  ASSERT_TRUE(b.morph_all(DType::float16));
  const NetworkComparison c = compare_networks(a, b);
  EXPECT_FALSE(c.equal);
  EXPECT_EQ(c.weights[0].dtype_a, "float32");
  EXPECT_EQ(c.weights[0].dtype_b, "float16");
}

TEST(Compare, other_shapes_and_weights_of_one_network_alone_have_a_note) {
  const NetworkComparison shapes = compare_networks(network_of(spec(1, 8)), network_of(spec(1, 9)));
  EXPECT_FALSE(shapes.equal);
  EXPECT_NE(shapes.weights[0].note.find("shapes"), std::string::npos) << shapes.weights[0].note;
  const Network one = network_of(R"({"layers":[{"type":"dense","input_height":2,"output_height":8}]})");
  const Network two = network_of(spec(1));
  std::size_t first = 0, second = 0;
  for (const WeightDifference& d : compare_networks(two, one).weights) first += d.note == "only in the first";
  for (const WeightDifference& d : compare_networks(one, two).weights) second += d.note == "only in the second";
  EXPECT_EQ(first, 1u);
  EXPECT_EQ(second, 1u);
  const NetworkComparison c = compare_networks(one, two);
  EXPECT_EQ(to_json(c.weights.back())["note"], "only in the second");
}

}  // namespace
}  // namespace loom::host_compare_test
