#include "evolution/cluster/cluster.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/philox.h"
#include "evolution/sums.h"

namespace loom {
namespace {

using Point = std::vector<double>;

double squared(const Point& a, const Point& b) {
  return lanes16(a.size(), [&](std::size_t i) { return (a[i] - b[i]) * (a[i] - b[i]); });
}

Result<void> check(std::span<const Point> points) {
  for (std::size_t p = 0; p < points.size(); ++p) {
    if (points[p].size() != points[0].size() || points[p].empty())
      return fail(Code::ShapeMismatch, "point {} has {} numbers, the first one {}", p, points[p].size(),
                  points[0].size());
    for (const double v : points[p])
      if (!std::isfinite(v)) return fail(Code::NonFinite, "point {} holds a number that is not finite", p);
  }
  return {};
}

// k distinct places, drawn without putting back.
std::vector<Point> distinct_starts(std::span<const Point> points, std::size_t k, const RandomStream& stream) {
  std::vector<std::size_t> order(points.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<Point> centres;
  for (std::size_t i = 0; i < k; ++i) {
    std::swap(order[i], order[i + stream.below(i, static_cast<std::uint32_t>(order.size() - i))]);
    centres.push_back(points[order[i]]);
  }
  return centres;
}

// Each next start is drawn by its squared distance from those there are.
std::vector<Point> spread_starts(std::span<const Point> points, std::size_t k, const RandomStream& stream) {
  std::vector<std::size_t> taken{stream.below(0, static_cast<std::uint32_t>(points.size()))};
  std::vector<double> nearest(points.size());
  while (taken.size() < k) {
    for (std::size_t p = 0; p < points.size(); ++p) {
      const double d = squared(points[p], points[taken.back()]);
      nearest[p] = taken.size() == 1 ? d : std::min(nearest[p], d);
    }
    const double total = std::accumulate(nearest.begin(), nearest.end(), 0.0),
                 wanted = static_cast<double>(stream.uniform(taken.size())) * total;
    double sum = 0;
    std::size_t pick = points.size();
    for (std::size_t p = 0; p < points.size(); ++p) {
      sum += nearest[p];
      if (nearest[p] > 0 && sum >= wanted) {
        pick = p;
        break;
      }
    }
    // Only copies of points that were taken are left: the first place that is free.
    for (std::size_t p = 0; pick == points.size() && p < points.size(); ++p)
      if (std::ranges::find(taken, p) == taken.end()) pick = p;
    taken.push_back(pick);
  }
  std::vector<Point> centres;
  centres.reserve(taken.size());
  for (const std::size_t p : taken) centres.push_back(points[p]);
  return centres;
}

}  // namespace

Result<KmeansResult> kmeans_cluster(std::span<const Point> points, std::size_t k, const KmeansOptions& options) {
  if (k < 1 || k > points.size()) return fail(Code::InvalidArgument, "{} clusters of {} points", k, points.size());
  LOOM_TRY_VOID(check(points));
  const RandomStream stream{options.seed, RandomDomain::Cluster, 0, random_site("kmeans")};
  KmeansResult r;
  r.centres = options.plus_plus ? spread_starts(points, k, stream) : distinct_starts(points, k, stream);
  r.assignment.assign(points.size(), k);
  const std::size_t width = points[0].size();
  while (r.iterations < options.max_iterations && !r.converged) {
    ++r.iterations;
    std::vector<std::size_t> now(points.size()), count(k, 0);
    std::vector<double> away(points.size());
    for (std::size_t p = 0; p < points.size(); ++p) {
      for (std::size_t c = 0; c < k; ++c)
        if (const double d = squared(points[p], r.centres[c]); c == 0 || d < away[p]) away[p] = d, now[p] = c;
      ++count[now[p]];
    }
    for (std::size_t c = 0; c < k; ++c) {
      if (count[c] != 0) continue;
      std::size_t farthest = points.size();
      for (std::size_t p = 0; p < points.size(); ++p)
        if (count[now[p]] > 1 && (farthest == points.size() || away[p] > away[farthest])) farthest = p;
      --count[now[farthest]];
      now[farthest] = c, away[farthest] = 0, count[c] = 1;
    }
    r.converged = now == r.assignment;
    r.assignment = std::move(now);
    for (std::size_t c = 0; c < k; ++c) {
      std::vector<std::size_t> mine;
      for (std::size_t p = 0; p < points.size(); ++p)
        if (r.assignment[p] == c) mine.push_back(p);
      for (std::size_t i = 0; i < width; ++i)
        r.centres[c][i] =
            lanes16(mine.size(), [&](std::size_t m) { return points[mine[m]][i]; }) / static_cast<double>(mine.size());
    }
  }
  return r;
}

Result<double> silhouette(std::span<const Point> points, std::span<const std::size_t> assignment) {
  if (points.empty() || assignment.size() != points.size())
    return fail(Code::InvalidArgument, "{} points with {} clusters named", points.size(), assignment.size());
  LOOM_TRY_VOID(check(points));
  std::vector<std::size_t> clusters(assignment.begin(), assignment.end());
  std::ranges::sort(clusters);
  clusters.erase(std::unique(clusters.begin(), clusters.end()), clusters.end());
  if (clusters.size() < 2) return fail(Code::InvalidArgument, "a silhouette needs two clusters, all points are in one");
  std::vector<double> width(points.size(), 0);
  for (std::size_t p = 0; p < points.size(); ++p) {
    double own = 0, other = -1;
    bool alone = false;
    for (const std::size_t c : clusters) {
      std::vector<std::size_t> there;
      for (std::size_t q = 0; q < points.size(); ++q)
        if (assignment[q] == c && q != p) there.push_back(q);
      if (there.empty()) {
        alone = true;  // only the own cluster can be empty without the point
        continue;
      }
      const double mean =
          lanes16(there.size(), [&](std::size_t i) { return std::sqrt(squared(points[p], points[there[i]])); }) /
          static_cast<double>(there.size());
      if (c == assignment[p])
        own = mean;
      else if (other < 0 || mean < other)
        other = mean;
    }
    const double most = std::max(own, other);
    width[p] = alone || most == 0 ? 0 : (other - own) / most;
  }
  return lanes16(width.size(), [&](std::size_t p) { return width[p]; }) / static_cast<double>(width.size());
}

Result<std::vector<std::vector<std::size_t>>> hierarchical_group(std::span<const Point> points, double threshold) {
  LOOM_TRY_VOID(check(points));
  std::vector<std::size_t> root(points.size());
  std::iota(root.begin(), root.end(), std::size_t{0});
  const auto find_root = [&](std::size_t p) {
    while (root[p] != p) p = root[p] = root[root[p]];
    return p;
  };
  for (std::size_t a = 0; a < points.size(); ++a)
    for (std::size_t b = a + 1; b < points.size(); ++b) {
      const std::size_t ra = find_root(a), rb = find_root(b);
      if (ra != rb && cosine_distance(points[a], points[b]) <= threshold) root[std::max(ra, rb)] = std::min(ra, rb);
    }
  std::vector<std::vector<std::size_t>> groups;
  std::vector<std::size_t> place(points.size(), ~std::size_t{0});
  for (std::size_t p = 0; p < points.size(); ++p) {
    std::size_t& group = place[find_root(p)];
    if (group == ~std::size_t{0}) {
      group = groups.size();
      groups.emplace_back();
    }
    groups[group].push_back(p);
  }
  return groups;
}

TensorGrouping group_tensors(std::vector<NamedTensor> tensors) {
  TensorGrouping out;
  for (NamedTensor& t : tensors) {
    constexpr std::string_view kWord = "layers.";
    std::size_t at = t.name.find(kWord);
    while (at != std::string::npos && at > 0 && t.name[at - 1] != '.') at = t.name.find(kWord, at + 1);
    std::size_t end = at == std::string::npos ? 0 : at + kWord.size();
    const std::size_t digits = end;
    std::size_t layer = 0;
    while (at != std::string::npos && end < t.name.size() && t.name[end] >= '0' && t.name[end] <= '9' &&
           end - digits < 9)
      layer = layer * 10 + static_cast<std::size_t>(t.name[end++] - '0');
    if (at == std::string::npos || end == digits || end >= t.name.size() || t.name[end] != '.') {
      out.unresolved.push_back(t.name + ": no \"layers.N.\" in its name");
      continue;
    }
    if (t.values.size() != t.shape.elements()) {
      out.unresolved.push_back(fmt::format("{}: {} values of shape {}", t.name, t.values.size(), t.shape.text()));
      continue;
    }
    const std::size_t next = t.name.find('.', end + 1);
    const std::string block = next == std::string::npos ? "" : t.name.substr(end + 1, next - end - 1);
    const std::string prefix = block.empty() ? t.name.substr(0, end) : t.name.substr(0, next);
    auto group = std::ranges::find(out.groups, prefix, &TensorGroup::prefix);
    if (group == out.groups.end()) group = out.groups.insert(out.groups.end(), TensorGroup{prefix, layer, block, {}});
    group->tensors.push_back(std::move(t));
  }
  return out;
}

std::vector<NamedTensor> tensors_of(const Network& network) {
  std::vector<NamedTensor> out;
  network.visit_weights([&](const std::string& path, Weight& w, Layer&) {
    NamedTensor t{path, w.shape(), {}};
    if (w.has_value()) {
      t.values.resize(w.elements());
      w.decode(0, w.elements(), t.values.data());
    }
    out.push_back(std::move(t));
  });
  return out;
}

}  // namespace loom
