#include "evolution/splice/splice.h"

#include "core/json.h"
#include "evolution/evolution_test.h"
#include "evolution/weight_values.h"
#include "io/network_file.h"
#include "network/spec/clone.h"

namespace loom {
namespace {

using namespace evolution_test;

std::vector<double> weights(const Network& n, std::size_t cell) {
  std::vector<double> out;
  n.cell(cell).layer->visit_weights([&](Weight& w) {
    for (const double v : values_of(w)) out.push_back(v);
  });
  return out;
}
Network pair_of(const std::vector<double>& v) {
  Network n = read(row_of({dense(2, 2)}));
  fill(n, 0, v);
  return n;
}
Network child_of(const Network& a, const Network& b, const SpliceConfig& config, SpliceReport* report = nullptr) {
  auto child = splice(a, b, config, report);
  EXPECT_TRUE(child) << (child ? "" : child.error().text());
  return std::move(*child);
}

TEST(Splice, blend_point_uniform) {  // E-10
  const Network a = pair_of({1, 2, 3, 4}), b = pair_of({5, 6, 7, 8});
  SpliceConfig c;
  EXPECT_EQ(weights(child_of(a, b, c), 0), (std::vector<double>{3, 4, 5, 6}));
  c.blend_alpha = 0.25;
  EXPECT_EQ(weights(child_of(a, b, c), 0), (std::vector<double>{2, 3, 4, 5}));
  c.mode = SpliceConfig::Mode::Point;
  EXPECT_EQ(weights(child_of(a, b, c), 0), (std::vector<double>{1, 2, 7, 8}));
  c.split_ratio = 0.99;
  EXPECT_EQ(weights(child_of(a, b, c), 0), (std::vector<double>{1, 2, 3, 8}));
  c.mode = SpliceConfig::Mode::Uniform;
  const std::vector<double> drawn = weights(child_of(a, b, c), 0);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(drawn[i] == 1.0 + i || drawn[i] == 5.0 + i);
  c.fitness_a = 1, c.fitness_b = 0;
  EXPECT_EQ(weights(child_of(a, b, c), 0), (std::vector<double>{1, 2, 3, 4}));
  c.fitness_a = 0, c.fitness_b = 1;
  EXPECT_EQ(weights(child_of(a, b, c), 0), (std::vector<double>{5, 6, 7, 8}));
}

TEST(Splice, uniform_takes_a_share_by_fitness) {  // E-10
  Network a = read(row_of({dense(100, 100, R"("init":"zeros")")}));
  Network b = clone_network(a).value();
  fill(b, 0, std::vector<double>(10000, 1));
  SpliceConfig c;
  c.mode = SpliceConfig::Mode::Uniform, c.fitness_a = 3, c.fitness_b = 1, c.seed = 5;
  double sum = 0;
  for (const double v : weights(child_of(a, b, c), 0)) sum += v;
  EXPECT_NEAR(sum, 2500, 4 * std::sqrt(10000 * 0.25 * 0.75));
}

TEST(Splice, blend_by_fitness_and_similarity) {                        // E-10
  const Network a = pair_of({1, 0, 0, 0}), b = pair_of({0, 1, 0, 0});  // cosine 0
  SpliceConfig c;
  c.fitness_a = 1, c.fitness_b = 3;
  EXPECT_EQ(weights(child_of(a, b, c), 0), (std::vector<double>{0.625, 0.375, 0, 0}));  // 0.75 * 0.5
  c.fitness_a = -3, c.fitness_b = 1;  // shifted to 0 and 4: alpha = 1 * 0.5
  EXPECT_EQ(weights(child_of(a, b, c), 0), (std::vector<double>{0.5, 0.5, 0, 0}));
  c.fitness_a = std::numeric_limits<double>::quiet_NaN(), c.fitness_b = 1;  // counts as the lower one
  EXPECT_EQ(weights(child_of(a, b, c), 0), (std::vector<double>{0.5, 0.5, 0, 0}));
  c.fitness_a = 2, c.fitness_b = -std::numeric_limits<double>::infinity();
  EXPECT_EQ(weights(child_of(a, b, c), 0), (std::vector<double>{1, 0, 0, 0}));
  // further apart than the largest number
  c.fitness_a = -std::numeric_limits<double>::max(), c.fitness_b = std::numeric_limits<double>::max();
  EXPECT_EQ(weights(child_of(a, b, c), 0), (std::vector<double>{0.5, 0.5, 0, 0}));
}

TEST(Splice, nested_children_match_by_path_kind_and_count) {  // E-10
  const std::string body = R"({"type":"sequential","sequential_layers":[)";
  Network a = read(row_of({body + dense(2, 2) + "," + dense(2, 2) + "]}", dense(2, 3)}, R"("init":"zeros",)"));
  Network b = read(row_of({body + dense(2, 2) + "]}", dense(2, 2)}));
  SpliceReport report;
  SpliceConfig c;
  c.blend_alpha = 1;
  const Network child = child_of(a, b, c, &report);
  ASSERT_EQ(report.layers.size(), 1u);
  EXPECT_EQ(report.layers[0].path, "layers.0.sequential_layers.0");
  EXPECT_EQ(report.child.signatures.size(), report.parent_a.signatures.size());
  EXPECT_EQ(dump_json(network_to_json(child)), dump_json(network_to_json(a)));
}

TEST(Splice, results_are_encoded_and_blended_cells_counted) {  // E-10
  Network a = read(row_of({dense(32, 32), dense(32, 32)}, R"("seed":1,)"));
  ASSERT_TRUE(a.morph_all(DType::int8));
  Network b = clone_network(a).value();
  fill(b, 1, [&] {
    std::vector<double> v = weights(a, 1);
    for (double& x : v) x = -x;
    return v;
  }());
  SpliceReport report;
  const Network child = child_of(a, b, {}, &report);
  EXPECT_EQ(report.blended_count, 1u);
  child.visit_weights([](const std::string&, Weight& w, Layer&) { EXPECT_EQ(w.dtype(), DType::int8); });
}

TEST(Splice, changing_a_child_leaves_its_parents_as_they_are) {  // E-10, G-84
  const Network a = pair_of({1, 2, 3, 4}), b = pair_of({5, 6, 7, 8});
  const auto before_a = network_to_entity(a, {true}).value(), before_b = network_to_entity(b, {true}).value();
  Network child = child_of(a, b, {});
  fill(child, 0, {9, 9, 9, 9});
  EXPECT_EQ(network_to_entity(a, {true}).value(), before_a);
  EXPECT_EQ(network_to_entity(b, {true}).value(), before_b);
}

TEST(Splice, names_of_modes) {
  EXPECT_EQ(splice_mode_from_name("point").value(), SpliceConfig::Mode::Point);
  const auto unknown = splice_mode_from_name("blent");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, Code::UnknownName);
}

}  // namespace
}  // namespace loom
