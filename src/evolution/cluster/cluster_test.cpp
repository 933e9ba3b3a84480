#include "evolution/cluster/cluster.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/philox.h"
#include "evolution/evolution_test.h"
#include "evolution/sums.h"

namespace loom {
namespace {

using Point = std::vector<double>;

// Three clouds of 20 points round (0,0), (10,0), (0,10).
std::vector<Point> clouds() {
  const RandomStream stream{3, RandomDomain::Noise, 0, 1};
  std::vector<Point> out;
  for (std::size_t i = 0; i < 60; ++i)
    out.push_back({(i % 3 == 1 ? 10 : 0) + static_cast<double>(stream.uniform(2 * i)),
                   (i % 3 == 2 ? 10 : 0) + static_cast<double>(stream.uniform(2 * i + 1))});
  return out;
}

TEST(Cluster, finds_clouds_with_either_start_and_the_same_seed_gives_the_same) {  // E-32
  const std::vector<Point> points = clouds();
  // k-means++ starts apart; plain starts may not, so several seeds are tried.
  bool any_plain = false;
  for (std::uint64_t seed = 0; seed < 10; ++seed)
    for (const bool plus : {false, true}) {
      const auto r = kmeans_cluster(points, 3, {100, seed, plus});
      ASSERT_TRUE(r);
      EXPECT_TRUE(r->converged);
      bool found = true;
      for (std::size_t i = 0; i < 60; ++i) found = found && r->assignment[i] == r->assignment[i % 3];
      found = found && std::set<std::size_t>{r->assignment[0], r->assignment[1], r->assignment[2]}.size() == 3;
      if (plus) {
        EXPECT_TRUE(found) << seed;
      }
      any_plain = any_plain || (!plus && found);
      EXPECT_EQ(r->assignment, kmeans_cluster(points, 3, {100, seed, plus})->assignment);
    }
  EXPECT_TRUE(any_plain);
}

TEST(Cluster, ties_go_to_the_lowest_centre_and_empty_clusters_take_the_farthest) {  // E-32
  const std::vector<Point> same = {{1, 1}, {1, 1}, {1, 1}, {5, 5}};
  for (const bool plus : {false, true})
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      const auto r = kmeans_cluster(same, 3, {100, seed, plus});
      ASSERT_TRUE(r);
      EXPECT_EQ((std::set<std::size_t>(r->assignment.begin(), r->assignment.end()).size()), 3u) << seed;
    }
  const auto all = kmeans_cluster(same, 4);
  ASSERT_TRUE(all);
  EXPECT_EQ(kmeans_cluster(same, 1)->centres[0], (Point{2, 2}));
}

// Lloyd's rounds as the header describes them, in plain loops: starts drawn without putting back, ties to the lowest
// centre, an empty cluster takes the point farthest from its own centre whose cluster keeps another.
KmeansResult lloyd(const std::vector<Point>& points, std::size_t k, std::uint64_t seed, std::size_t& empty) {
  const RandomStream stream{seed, RandomDomain::Cluster, 0, random_site("kmeans")};
  std::vector<Point> left = points;
  KmeansResult r;
  for (std::size_t i = 0; i < k; ++i) {
    std::swap(left[i], left[i + stream.below(i, static_cast<std::uint32_t>(left.size() - i))]);
    r.centres.push_back(left[i]);
  }
  const auto away = [](const Point& a, const Point& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sum;
  };
  while (true) {
    std::vector<std::size_t> now;
    std::vector<double> distance;
    for (const Point& p : points) {
      std::size_t best = 0;
      for (std::size_t c = 1; c < k; ++c)
        if (away(p, r.centres[c]) < away(p, r.centres[best])) best = c;
      now.push_back(best), distance.push_back(away(p, r.centres[best]));
    }
    for (std::size_t c = 0; c < k; ++c) {
      if (std::ranges::count(now, c) != 0) continue;
      ++empty;
      std::size_t farthest = points.size();
      for (std::size_t p = 0; p < points.size(); ++p)
        if (std::ranges::count(now, now[p]) > 1 && (farthest == points.size() || distance[p] > distance[farthest]))
          farthest = p;
      now[farthest] = c, distance[farthest] = 0;
    }
    const bool same = now == r.assignment;
    r.assignment = now;
    if (same) return r;
    for (std::size_t c = 0; c < k; ++c) {
      Point sum(points[0].size(), 0);
      double count = 0;
      for (std::size_t p = 0; p < points.size(); ++p) {
        if (now[p] != c) continue;
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += points[p][i];
        ++count;
      }
      for (double& v : sum) v /= count;
      r.centres[c] = sum;
    }
  }
}

// Integers, so that sums are exact in any order; many of them equal, so that ties and empty clusters come up.
TEST(Cluster, assignments_and_centres_are_those_of_the_rounds_by_hand) {  // E-32
  std::size_t empty = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const RandomStream draws{seed, RandomDomain::Noise, 0, 2};
    std::vector<Point> points;
    for (std::size_t i = 0; i < 12; ++i)
      points.push_back({static_cast<double>(draws.below(2 * i, 4)), static_cast<double>(draws.below(2 * i + 1, 3))});
    const std::size_t k = 2 + draws.below(99, 5);
    const KmeansResult wanted = lloyd(points, k, seed, empty);
    const auto r = kmeans_cluster(points, k, {100, seed, false});
    ASSERT_TRUE(r);
    EXPECT_TRUE(r->converged) << seed;
    EXPECT_EQ(r->assignment, wanted.assignment) << seed;
    for (std::size_t c = 0; c < k; ++c)
      for (std::size_t i = 0; i < 2; ++i) EXPECT_DOUBLE_EQ(r->centres[c][i], wanted.centres[c][i]) << seed;
  }
  EXPECT_GT(empty, 20u);
}

TEST(Cluster, bad_arguments) {  // E-32
  const std::vector<Point> points = {{1}, {2}};
  EXPECT_EQ(kmeans_cluster(points, 0).error().code, Code::InvalidArgument);
  EXPECT_EQ(kmeans_cluster(points, 3).error().code, Code::InvalidArgument);
  const std::vector<Point> ragged = {{1}, {2, 3}}, bad = {{1}, {std::nan("")}};
  EXPECT_EQ(kmeans_cluster(ragged, 1).error().code, Code::ShapeMismatch);
  EXPECT_EQ(kmeans_cluster(bad, 1).error().code, Code::NonFinite);
}

TEST(Cluster, silhouette_by_its_formula) {  // E-32
  // sklearn.metrics.silhouette_score([[0],[1],[5],[6]], [0,0,1,1]) by its formula: a = 1, b = 5.5, 4.5, 4.5, 5.5.
  const std::vector<Point> points = {{0}, {1}, {5}, {6}};
  const std::vector<std::size_t> labels = {0, 0, 1, 1};
  EXPECT_DOUBLE_EQ(*silhouette(points, labels), (2 * (4.5 / 5.5) + 2 * (3.5 / 4.5)) / 4);
  const std::vector<std::size_t> one = {0, 0, 0, 0}, alone = {0, 0, 0, 1};
  EXPECT_FALSE(silhouette(points, one));
  EXPECT_TRUE(silhouette(points, alone));
}

TEST(Cluster, cosine_distance_and_single_linkage) {  // E-32
  EXPECT_DOUBLE_EQ(cosine_distance(Point{1, 0}, Point{0, 2}), 1);
  EXPECT_DOUBLE_EQ(cosine_distance(Point{1, 0}, Point{-3, 0}), 2);
  // Each step of 0.1 rad, so neighbours are linked although the ends are far apart.
  std::vector<Point> chain;
  for (int i = 0; i < 10; ++i) chain.push_back({std::cos(0.1 * i), std::sin(0.1 * i)});
  chain.push_back({-1, 0});
  const auto groups = hierarchical_group(chain, 0.006);
  ASSERT_TRUE(groups);
  ASSERT_EQ(groups->size(), 2u);
  EXPECT_EQ((*groups)[0].size(), 10u);
  EXPECT_EQ((*groups)[1], (std::vector<std::size_t>{10}));
  EXPECT_EQ(hierarchical_group(chain, 0.004)->size(), 11u);
}

TEST(Cluster, groups_carry_weights_and_the_rest_is_named) {  // E-33
  const TensorGrouping g = group_tensors({{"model.layers.0.self_attn.q_proj.weight", Shape::of({2}), {1, 2}},
                                          {"model.embed_tokens.weight", Shape::of({2}), {1, 2}},
                                          {"model.layers.0.self_attn.k_proj.weight", Shape::of({2}), {3, 4}},
                                          {"model.layers.1.mlp.up_proj.weight", Shape::of({1}), {5}},
                                          {"model.layers.1.mlp.down_proj.weight", Shape::of({1}), {}},
                                          {"model.layers.x.mlp.weight", Shape::of({1}), {1}},
                                          {"layers.2.weight", Shape::of({1}), {7}}});
  ASSERT_EQ(g.groups.size(), 3u);
  EXPECT_EQ(g.groups[0].prefix, "model.layers.0.self_attn");
  EXPECT_EQ(g.groups[0].block, "self_attn");
  ASSERT_EQ(g.groups[0].tensors.size(), 2u);
  EXPECT_EQ(g.groups[0].tensors[1].values, (std::vector<float>{3, 4}));
  EXPECT_EQ(g.groups[1].layer, 1u);
  EXPECT_EQ(g.groups[2].prefix, "layers.2");
  EXPECT_EQ(g.groups[2].block, "");
  EXPECT_EQ(g.unresolved.size(), 3u);
  for (const TensorGroup& group : g.groups) EXPECT_FALSE(group.tensors.empty());
}

TEST(Cluster, a_network_groups_whole) {  // E-33
  const Network n = evolution_test::read(
      evolution_test::row_of({R"({"type":"sequential","sequential_layers":[)" + evolution_test::dense(2, 2) + "]}"}));
  const TensorGrouping g = group_tensors(tensors_of(n));
  ASSERT_EQ(g.groups.size(), 1u);
  EXPECT_EQ(g.groups[0].prefix, "layers.0.sequential_layers");
  EXPECT_EQ(g.groups[0].tensors[0].values.size(), 4u);
  EXPECT_TRUE(g.unresolved.empty());
}

}  // namespace
}  // namespace loom
