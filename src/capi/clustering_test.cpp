// Clusters, groups and the cosine of masks over loom.h.

#include <gtest/gtest.h>
#include <loom/loom.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "capi/capi_test.h"
#include "core/json.h"

namespace loom::capi_clusters_test {
namespace {

using test::take;

constexpr double kPoints[] = {0, 0, 0, 1, 1, 0, 10, 10, 10, 11, 11, 10};  // six of two numbers

Json json_of(loom_blob blob) { return parse_json(take(blob)).value_or(Json()); }

TEST(CapiClusters, KmeansFindsTwoGroupsAndTheirMeans) {
  for (const std::int32_t plus_plus : {0, 1}) {
    loom_blob blob = 0;
    ASSERT_EQ(loom_points_cluster(kPoints, 12, 6, 2, 0, plus_plus, 3, &blob), LOOM_OK) << loom_last_error();
    const Json r = json_of(blob);
    const Json& a = r["assignment"];
    EXPECT_TRUE(a[0] == a[1] && a[1] == a[2] && a[3] == a[4] && a[4] == a[5] && a[0] != a[3]) << r.dump();
    const Json& low = r["centres"][a[0].get<std::size_t>()];
    EXPECT_DOUBLE_EQ(low[0].get<double>(), 1.0 / 3);
    EXPECT_DOUBLE_EQ(low[1].get<double>(), 1.0 / 3);
    EXPECT_EQ(r["converged"], true);
  }
  loom_blob blob = 0;
  ASSERT_EQ(loom_points_cluster(kPoints, 12, 6, 2, 1, 0, 3, &blob), LOOM_OK);
  EXPECT_EQ(json_of(blob)["iterations"], 1);
  EXPECT_EQ(loom_points_cluster(kPoints, 12, 6, 7, 0, 0, 0, &blob), LOOM_INVALID_ARGUMENT);
  EXPECT_EQ(loom_points_cluster(kPoints, 12, 6, 0, 0, 0, 0, &blob), LOOM_INVALID_ARGUMENT);
  EXPECT_EQ(loom_points_cluster(kPoints, 12, 5, 2, 0, 0, 0, &blob), LOOM_SHAPE_MISMATCH);
  EXPECT_EQ(loom_points_cluster(kPoints, 0, 0, 1, 0, 0, 0, &blob), LOOM_EMPTY_TENSOR);
  const double bad[] = {0, std::numeric_limits<double>::quiet_NaN()};
  EXPECT_EQ(loom_points_cluster(bad, 2, 2, 1, 0, 0, 0, &blob), LOOM_NON_FINITE);
}

// The value is that of silhouette_score() of scikit-learn 1.9.1.
TEST(CapiClusters, SilhouetteMatchesScikitLearn) {
  const std::uint64_t right[] = {0, 0, 0, 1, 1, 1}, one[] = {0, 0, 0, 0, 0, 0};
  double value = 0;
  ASSERT_EQ(loom_points_silhouette(kPoints, 12, 6, right, 6, &value), LOOM_OK) << loom_last_error();
  EXPECT_NEAR(value, 0.9196222281154851, 1e-12);
  EXPECT_EQ(loom_points_silhouette(kPoints, 12, 6, one, 6, &value), LOOM_INVALID_ARGUMENT);
  EXPECT_EQ(loom_points_silhouette(kPoints, 12, 6, right, 5, &value), LOOM_SHAPE_MISMATCH);
}

TEST(CapiClusters, PointsOfOneDirectionAreOneGroup) {
  const double directions[] = {1, 0, 0, 1, 2, 0.1, 0, 3};
  loom_blob blob = 0;
  ASSERT_EQ(loom_points_group(directions, 8, 4, 0.01, &blob), LOOM_OK) << loom_last_error();
  EXPECT_EQ(json_of(blob).dump(), "[[0,2],[1,3]]");
  for (const double threshold : {-0.1, 2.1, std::nan("")})
    EXPECT_EQ(loom_points_group(directions, 8, 4, threshold, &blob), LOOM_INVALID_ARGUMENT);
}

TEST(CapiClusters, WeightsAreGroupedByLayerAndBlock) {
  const std::string spec = R"({"layers":[{"type":"dense","input_height":2,"output_height":2},
    {"type":"sequential","sequential_layers":[{"type":"dense","input_height":2,"output_height":1}]}]})";
  loom_network network = 0;
  ASSERT_EQ(loom_network_from_json(spec.data(), spec.size(), nullptr, &network), LOOM_OK) << loom_last_error();
  loom_blob blob = 0;
  ASSERT_EQ(loom_network_groups(network, &blob), LOOM_OK) << loom_last_error();
  const Json r = json_of(blob);
  ASSERT_EQ(r["groups"].size(), 2u) << r.dump();
  EXPECT_EQ(r["groups"][0]["prefix"], "layers.0");
  EXPECT_EQ(r["groups"][1]["layer"], 1);
  EXPECT_TRUE(r["unresolved"].empty());
  EXPECT_EQ(loom_release(network), LOOM_OK);
}

TEST(CapiClusters, MatchesHaveTheCosineOfTheirMasks) {
  const char right[] = {1, 1, 0, 0, 1, 0, 1, 0};
  loom_blob blob = 0;
  ASSERT_EQ(loom_matches_find(right, 8, 2, 0, &blob), LOOM_OK) << loom_last_error();
  EXPECT_DOUBLE_EQ(json_of(blob)[0]["cosine"].get<double>(), 0.5);
  double cosine = 0;
  ASSERT_EQ(loom_matches_similarity(right, 4, right + 4, 4, &cosine), LOOM_OK);
  EXPECT_DOUBLE_EQ(cosine, 0.5);
  EXPECT_EQ(loom_matches_similarity(right, 4, right, 3, &cosine), LOOM_SHAPE_MISMATCH);
  EXPECT_EQ(loom_matches_similarity(right, 0, right, 0, &cosine), LOOM_EMPTY_TENSOR);
}

}  // namespace
}  // namespace loom::capi_clusters_test
