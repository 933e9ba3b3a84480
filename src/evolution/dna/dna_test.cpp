#include "evolution/dna/dna.h"

#include <cmath>

#include "evolution/evolution_test.h"
#include "network/spec/clone.h"

namespace loom {
namespace {

using namespace evolution_test;

Dna dna(const Network& n) {
  auto d = extract_dna(n);
  EXPECT_TRUE(d) << (d ? "" : d.error().text());
  return d ? *d : Dna{};
}

TEST(Dna, unit_vectors_in_flat_order_and_zero_stays_zero) {  // E-01
  Network n = read(row_of(
      {dense(2, 1, R"("bias":true)"), dense(1, 2, R"("init":"zeros")"), R"({"type":"softmax","input_height":2})"}));
  fill(n, 0, {3, 0, 4});
  const Dna d = dna(n);
  ASSERT_EQ(d.signatures.size(), 3u);
  EXPECT_EQ(d.signatures[0].key(), "0,0,0,0");
  EXPECT_EQ(d.signatures[0].type, "dense");
  EXPECT_EQ(d.signatures[0].weights, (std::vector<double>{0.6, 0, 0.8}));
  EXPECT_EQ(d.signatures[1].key(), "0,0,1,0");
  EXPECT_EQ(d.signatures[1].weights, (std::vector<double>{0, 0}));
  EXPECT_EQ(d.signatures[2].weights, (std::vector<double>{1}));
  EXPECT_FALSE(d.signatures[2].has_weights);
}

TEST(Dna, containers_join_unit_vectors_and_links_are_their_targets) {  // E-01
  const std::string parallel =
      R"({"type":"parallel","combine_mode":"filter","parallel_branches":[)" + dense(2, 2) +
      R"(,{"is_remote_link":true,"target_z":0,"target_y":0,"target_x":1,"target_l":0}],"filter_gate":)" + dense(2, 2) +
      "}";
  Network n = read(row_of({parallel, dense(2, 2)}));
  const auto set = [](Layer& l, double v) {
    l.visit_weights([&](Weight& w) { ASSERT_TRUE(w.set(std::span<const double>(std::vector<double>{v, 0, 0, 0}))); });
  };
  n.cell(0).layer->visit_children(
      [&](const std::string& path, Layer& child) { set(child, path == "filter_gate" ? -7 : 5); });
  set(*n.cell(1).layer, 2);
  const Dna d = dna(n);
  const double third = 1 / std::sqrt(3.0);
  EXPECT_EQ(d.signatures[0].weights, (std::vector<double>{third, 0, 0, 0, third, 0, 0, 0, -third, 0, 0, 0}));
  EXPECT_EQ(d.signatures[1].path, "layers.0.parallel_branches.0");
  EXPECT_EQ(d.signatures[2].type, "dense");
  EXPECT_EQ(d.signatures[2].weights, (std::vector<double>{1, 0, 0, 0}));
  EXPECT_FALSE(d.signatures[2].is_cell);
}

TEST(Dna, precision_shows_and_a_released_master_changes_nothing) {  // E-01, E-02, G-82
  for (const DType type : {DType::int8, DType::int4, DType::float16, DType::ternary}) {
    Network exact = read(row_of({dense(32, 16)}));
    Network coarse = clone_network(exact).value();
    ASSERT_TRUE(coarse.morph_all(type));
    const Dna a = dna(exact), before = dna(coarse);
    coarse.release_masters();
    const Dna after = dna(coarse);
    EXPECT_EQ(before.signatures[0].weights, after.signatures[0].weights);
    EXPECT_EQ(after.signatures[0].dtype, type);
    const double s = similarity(a.signatures[0], after.signatures[0]);
    EXPECT_LT(s, 1) << name(type);
    EXPECT_GT(s, type == DType::ternary ? 0.7 : 0.98) << name(type);
    if (type == DType::int8) {
      EXPECT_GT(s, 0.99);
    }
  }
}

TEST(Dna, adapters_count_as_what_they_do) {  // E-01
  Network with = read(row_of({dense(3, 3, R"("adapters":[{"rank":1}])")}));
  with.cell(0).layer->visit_all_weights([](Weight& w) {
    const std::vector<float> v(w.elements(), 0.5f);
    ASSERT_TRUE(w.set(std::span<const float>(v)));
  });
  const Dna before = dna(with);
  ASSERT_TRUE(with.merge_adapters());
  const Dna after = dna(with);
  EXPECT_NEAR(similarity(before.signatures[0], after.signatures[0]), 1, 1e-7);  // the merged master is f32
}

TEST(Dna, rules_of_the_cosine) {  // E-02
  Signature a{{}, "layers.0", "dense", DType::float32, {1, 0}}, b = a;
  EXPECT_EQ(similarity(a, b), 1);
  b.weights = {0, 1};
  EXPECT_EQ(similarity(a, b), 0);
  b.weights = {-1, 0};
  EXPECT_EQ(similarity(a, b), -1);
  b.weights = {0, 0};
  EXPECT_EQ(similarity(a, b), 0);
  a.weights = {0, 0};
  EXPECT_EQ(similarity(a, b), 1);
  b.type = "swiglu";
  EXPECT_EQ(similarity(a, b), 0);
  b.type = "dense", b.weights = {0, 0, 0};
  EXPECT_EQ(similarity(a, b), 0);
  b = a, b.dtype = DType::binary;
  EXPECT_EQ(similarity(a, b), 1);
}

TEST(Dna, overlaps_mean_structural_and_unmatched) {  // E-03
  Network a = read(row_of({dense(2, 2), dense(2, 2), ""})), b = read(row_of({dense(2, 2), "", dense(2, 2)}));
  fill(a, 0, {1, 0, 0, 0}), fill(a, 1, {1, 0, 0, 0}), fill(b, 0, {3, 4, 0, 0}), fill(b, 2, {1, 1, 1, 1});
  const DnaComparison c = compare_dna(dna(a), dna(b));
  ASSERT_EQ(c.layers.size(), 1u);
  EXPECT_EQ(c.layers[0].key, "0,0,0,0");
  EXPECT_DOUBLE_EQ(c.layers[0].overlap, 0.6);
  EXPECT_DOUBLE_EQ(c.overall, 0.6);
  EXPECT_DOUBLE_EQ(c.structural, 0.2);
  EXPECT_EQ(c.unmatched, (std::vector<std::string>{"0,0,1,0", "0,0,2,0"}));
}

TEST(Dna, shifts_none_against_itself_two_for_swapped_cells) {  // E-04, G-83
  const std::string softmax = R"({"type":"softmax","input_height":3})";
  Network a = read(row_of({dense(3, 3), dense(3, 3), dense(3, 3), softmax, softmax}, R"("seed":4,)"));
  EXPECT_TRUE(compare_dna(dna(a), dna(a)).shifts.empty());
  Network b = clone_network(a).value();
  Cell first = b.exchange(0, {}), third = b.exchange(2, std::move(first));
  b.exchange(0, std::move(third));
  const auto shifts = compare_dna(dna(a), dna(b)).shifts;
  ASSERT_EQ(shifts.size(), 2u);
  EXPECT_EQ(shifts[0].source, "0,0,0,0");
  EXPECT_EQ(shifts[0].target, "0,0,2,0");
  EXPECT_EQ(shifts[1].source, "0,0,2,0");
  EXPECT_EQ(shifts[1].target, "0,0,0,0");
  EXPECT_DOUBLE_EQ(shifts[0].overlap, 1);
}

TEST(Dna, ties_go_home_then_to_the_lower_index) {  // E-04
  Network a = read(row_of({dense(2, 2), dense(2, 2), dense(2, 2)})),
          b = read(row_of({dense(2, 2), dense(2, 2), dense(2, 2)}));
  for (std::size_t i = 0; i < 3; ++i) fill(a, i, {1, 2, 3, 4}), fill(b, i, {2, 4, 6, 8});
  EXPECT_TRUE(compare_dna(dna(a), dna(b)).shifts.empty());
  fill(b, 2, {-1, 0, 0, 0});
  const auto shifts = compare_dna(dna(a), dna(b)).shifts;
  ASSERT_EQ(shifts.size(), 1u);
  EXPECT_EQ(shifts[0].source, "0,0,2,0");
  EXPECT_EQ(shifts[0].target, "0,0,0,0");
}

TEST(Dna, drift_of_a_run_counts_from_the_first_and_the_last) {
  Network n = read(row_of({dense(2, 2), dense(2, 2)}));
  fill(n, 1, {1, 1, 1, 1});
  std::vector<Dna> run;
  for (const std::vector<double>& w : {std::vector<double>{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 1, 0, 0}}) {
    fill(n, 0, w);
    run.push_back(dna(n));
  }
  const DnaDrift drift = drift_of(run);
  EXPECT_EQ(drift.keys, (std::vector<std::string>{"0,0,0,0", "0,0,1,0"}));
  EXPECT_EQ(drift.from_first, (std::vector<std::vector<double>>{{0, 0}, {1, 0}, {1, 0}}));
  EXPECT_EQ(drift.from_previous, (std::vector<std::vector<double>>{{0, 0}, {1, 0}, {0, 0}}));
}

TEST(Dna, links_that_lead_in_a_circle_are_an_error) {
  const std::string link = R"({"is_remote_link":true,"target_z":0,"target_y":0,"target_x":%,"target_l":0})";
  auto to = [&](const char* x) { return std::string(link).replace(link.find('%'), 1, x); };
  const auto n = network_from_json(row_of({to("1"), to("0")}));
  ASSERT_TRUE(n);
  const auto d = extract_dna(n->network);
  ASSERT_FALSE(d);
  EXPECT_EQ(d.error().code, Code::NestingTooDeep);
}

TEST(Dna, the_picture_names_shifts_and_refuses_what_is_too_large) {
  Network a = read(row_of({dense(3, 3), dense(3, 3)}, R"("seed":4,)"));
  Network b = clone_network(a).value();
  Cell first = b.exchange(0, {}), second = b.exchange(1, std::move(first));
  b.exchange(0, std::move(second));
  const Dna x = dna(a), y = dna(b);
  const auto svg = heat_map_svg(x, y, compare_dna(x, y), "<a>", "b");
  ASSERT_TRUE(svg);
  EXPECT_NE(svg->find("logic shifts 2"), std::string::npos);
  EXPECT_NE(svg->find("&lt;a&gt;"), std::string::npos);
  Dna many;
  many.signatures.resize(513);
  EXPECT_FALSE(heat_map_svg(many, many, {}, "a", "b"));
}

}  // namespace
}  // namespace loom
