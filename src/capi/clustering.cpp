// Clustering of points and grouping of weights in loom.h.

#include <algorithm>
#include <span>
#include <vector>

#include "capi/guard.h"
#include "capi/network_objects.h"
#include "capi/options.h"
#include "core/json.h"
#include "evolution/cluster/cluster.h"

namespace loom::capi {
namespace {

using Points = std::vector<std::vector<double>>;

// Row-major points, of which there are `count`.
Result<Points> points_of(const double* points, std::size_t points_count, std::uint64_t count) {
  LOOM_TRY(const auto numbers, need_array(points, points_count, "points"));
  if (count == 0 || numbers.empty()) return fail(Code::EmptyTensor, "points is empty");
  if (numbers.size() % count != 0)
    return fail(Code::ShapeMismatch, "points has {} numbers for {} points", numbers.size(), count);
  const auto width = static_cast<std::size_t>(numbers.size() / count);
  Points out;
  for (std::size_t at = 0; at < numbers.size(); at += width) {
    const auto one = numbers.subspan(at, width);
    out.emplace_back(one.begin(), one.end());
  }
  return out;
}

Json groups_json(const TensorGrouping& grouping) {
  Json groups = Json::array();
  for (const TensorGroup& group : grouping.groups) {
    Json names = Json::array();
    for (const NamedTensor& tensor : group.tensors) names.push_back(tensor.name);
    groups.push_back(
        {{"prefix", group.prefix}, {"layer", group.layer}, {"block", group.block}, {"tensors", std::move(names)}});
  }
  return Json{{"groups", std::move(groups)}, {"unresolved", grouping.unresolved}};
}

}  // namespace
}  // namespace loom::capi

using namespace loom;
using namespace loom::capi;

loom_status loom_points_cluster(const double* points, size_t points_count, uint64_t count, uint64_t clusters,
                                uint64_t max_iterations, int32_t plus_plus, uint64_t seed, loom_blob* result) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(result));
    LOOM_TRY(const Points all, points_of(points, points_count, count));
    if (clusters == 0 || clusters > count)
      return fail(Code::InvalidArgument, "clusters is {}: expected 1 to {}, the number of points", clusters, count);
    KmeansOptions options{.seed = seed, .plus_plus = plus_plus != 0};
    if (max_iterations != 0) options.max_iterations = static_cast<std::size_t>(max_iterations);
    LOOM_TRY(const KmeansResult found, kmeans_cluster(all, static_cast<std::size_t>(clusters), options));
    LOOM_TRY(*result, make_blob(Json{{"assignment", found.assignment},
                                     {"centres", found.centres},
                                     {"iterations", found.iterations},
                                     {"converged", found.converged}}));
    return {};
  });
}

loom_status loom_points_silhouette(const double* points, size_t points_count, uint64_t count,
                                   const uint64_t* assignment, size_t assignment_count, double* value) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(value));
    LOOM_TRY(const auto clusters, need_array(assignment, assignment_count, "assignment"));
    if (clusters.size() != count)
      return fail(Code::ShapeMismatch, "assignment has {} clusters for {} points", clusters.size(), count);
    LOOM_TRY(const Points all, points_of(points, points_count, count));
    const std::vector<std::size_t> given(clusters.begin(), clusters.end());
    LOOM_TRY(*value, silhouette(all, given));
    return {};
  });
}

loom_status loom_points_group(const double* points, size_t points_count, uint64_t count, double threshold,
                              loom_blob* groups) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(groups));
    LOOM_TRY(const Points all, points_of(points, points_count, count));
    if (!(threshold >= 0 && threshold <= 2))
      return fail(Code::InvalidArgument, "threshold is {}: expected a cosine distance, 0 to 2", threshold);
    LOOM_TRY(const auto found, hierarchical_group(all, threshold));
    LOOM_TRY(*groups, make_blob(Json(found)));
    return {};
  });
}

loom_status loom_network_groups(loom_network network, loom_blob* groups) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(groups));
    LOOM_TRY(const auto taken, take_network<Reading>(network));
    LOOM_TRY(*groups, make_blob(groups_json(group_tensors(tensors_of(taken.network())))));
    return {};
  });
}
