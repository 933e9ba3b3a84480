#include "evolution/ensemble/ensemble.h"

#include <algorithm>
#include <cmath>

#include "evolution/evolution_test.h"

namespace loom {
namespace {

using namespace evolution_test;

TEST(Ensemble, pairs_by_coverage_then_overlap_then_place) {  // E-31
  const std::vector<ModelPerformance> m = {{"a", {true, true, false, false}},
                                           {"b", {false, true, true, false}},
                                           {"c", {false, false, true, true}},
                                           {"d", {true, true, true, true}}};
  const auto found = find_complementary_matches(m, 0.75);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 6u);
  EXPECT_EQ((*found)[0].a, 0u);  // coverage 1, overlap 0
  EXPECT_EQ((*found)[0].b, 2u);
  EXPECT_EQ((*found)[1].a, 0u);  // coverage 1, overlap 0.5, the first of three
  EXPECT_EQ((*found)[1].b, 3u);
  EXPECT_DOUBLE_EQ((*found)[1].overlap, 0.5);
  EXPECT_DOUBLE_EQ(found->back().coverage, 0.75);
  EXPECT_EQ(find_complementary_matches(m, 0.8)->size(), 4u);
  const std::vector<ModelPerformance> uneven = {{"a", {true}}, {"b", {true, false}}};
  EXPECT_EQ(find_complementary_matches(uneven, 0).error().code, Code::ShapeMismatch);
  EXPECT_DOUBLE_EQ(performance_similarity(m[0], m[1]), 0.5);
  EXPECT_DOUBLE_EQ(performance_similarity({"", {false}}, {"", {false}}), 1);
}

TEST(Ensemble, ties_of_votes_go_to_the_lowest_class) {  // E-31, G-87
  for (int repeat = 0; repeat < 20; ++repeat) {
    EXPECT_EQ(*weighted_vote(std::vector<std::int32_t>{7, 2, 7, 2, 9}, std::vector<double>(5, 1)), 2);
    EXPECT_EQ(*weighted_vote(std::vector<std::int32_t>{5, 4, 3}, std::vector<double>(3, 1)), 3);
  }
  EXPECT_EQ(*weighted_vote(std::vector<std::int32_t>{1, 0, 0}, std::vector<double>{3, 1, 1}), 1);
  EXPECT_EQ(*weighted_vote(std::vector<std::int32_t>{1, 0}, std::vector<double>{2, 2}), 0);
  EXPECT_FALSE(weighted_vote({}, {}));
  EXPECT_FALSE(weighted_vote(std::vector<std::int32_t>{1}, std::vector<double>{std::nan("")}));
  EXPECT_FALSE(weighted_vote(std::vector<std::int32_t>{-1}, std::vector<double>{1}));
}

TEST(Ensemble, the_combined_network_is_built_and_runs) {  // E-31
  Network a = read(row_of({dense(2, 3, R"("activation":"tanh")"), "", dense(3, 2)}, R"("seed":1,)"));
  Network b = read(row_of({dense(2, 2)}, R"("seed":2,)"));
  const Shape input = Shape::of({2, 2});
  const std::vector<float> x = {1, 2, -1, 0.5f};
  const auto ya = outputs(a, input, x), yb = outputs(b, input, x);
  const Network* const both[] = {&a, &b};
  auto joined = ensemble_network(both);
  ASSERT_TRUE(joined) << joined.error().text();
  const auto y = outputs(*joined, input, x);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_FLOAT_EQ(y[i], (ya[i] + yb[i]) * 0.5f);
  Network linked =
      read(row_of({dense(2, 2), R"({"is_remote_link":true,"target_z":0,"target_y":0,"target_x":0,"target_l":0})"}));
  const Network* const one[] = {&linked};
  EXPECT_EQ(ensemble_network(one).error().code, Code::Unsupported);
}

TEST(Ensemble, of_a_population_beside_its_best_member) {  // E-31
  auto workers = Workers::create(1).value();
  const auto task = spirals_task(24);
  IslandsConfig config;
  config.population.size = 12;
  config.population.mutation.connection_add_rate = 0, config.population.mutation.node_rate = 0,
  config.population.mutation.weight_perturb_scale = 1;
  const Network base = read(row_of({dense(2, 8, R"("activation":"tanh","bias":true)"), dense(8, 1, R"("bias":true)")}));
  Islands islands = Islands::create(5, config, base, task->input(), workers).value();
  const auto report = best_ensemble(islands, *task, workers.runner(0));
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(report->members.size(), 2u);
  // Every pair of members by hand: the largest coverage, then the least overlap, then the first; judged as the mean of
  // both outputs.
  const auto share = [](const std::vector<bool>& mask) {
    return static_cast<double>(std::ranges::count(mask, true)) / static_cast<double>(mask.size());
  };
  std::vector<std::vector<bool>> masks;
  const auto members = islands.populations()[0].members();
  for (const Member& m : members) masks.push_back(task->right(workers.runner(0), m.candidate()).value());
  std::pair<std::size_t, std::size_t> best;
  double coverage = -1, overlap = 0;
  for (std::size_t a = 0; a < masks.size(); ++a)
    for (std::size_t b = a + 1; b < masks.size(); ++b) {
      std::vector<bool> any(masks[a].size()), all(masks[a].size());
      for (std::size_t i = 0; i < any.size(); ++i)
        any[i] = masks[a][i] || masks[b][i], all[i] = masks[a][i] && masks[b][i];
      if (share(any) > coverage || (share(any) == coverage && share(all) < overlap))
        coverage = share(any), overlap = share(all), best = {a, b};
    }
  EXPECT_DOUBLE_EQ(report->coverage, coverage);
  EXPECT_DOUBLE_EQ(report->overlap, overlap);
  EXPECT_EQ(report->members, (std::vector<std::string>{members[best.first].id.text(), members[best.second].id.text()}));
  EXPECT_DOUBLE_EQ(report->best_member, std::max(share(masks[best.first]), share(masks[best.second])));
  const Network* const pair[] = {&members[best.first].network, &members[best.second].network};
  Network joined = ensemble_network(pair).value();
  const auto plan = ForwardPlan::create(joined, task->input()).value();
  EXPECT_DOUBLE_EQ(report->combined, share(task->right(workers.runner(0), {joined, *plan}).value()));
  EXPECT_GT(coverage, report->best_member);  // the pair does complete each other
}

}  // namespace
}  // namespace loom
