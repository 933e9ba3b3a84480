#pragma once
// Points grouped by distance, and tensors by name (engine E-32, E-33).

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "network/network.h"

namespace loom {

struct KmeansOptions {
  std::size_t max_iterations = 100;
  std::uint64_t seed = 0;  // domain 8
  bool plus_plus = false;  // starts far apart (Arthur & Vassilvitskii 2007); otherwise k distinct points
};
struct KmeansResult {
  std::vector<std::size_t> assignment;  // by point; ties to the lowest centre
  std::vector<std::vector<double>> centres;
  std::size_t iterations = 0;
  bool converged = false;  // nothing changed in the last one
};
// Lloyd's rounds in f64, sums by lanes16. An empty cluster takes the point that is farthest from its centre.
// InvalidArgument for k outside 1..points, ShapeMismatch for points of different lengths, NonFinite.
Result<KmeansResult> kmeans_cluster(std::span<const std::vector<double>> points, std::size_t k,
                                    const KmeansOptions& options = {});

// Mean silhouette (Rousseeuw 1987) in [-1, 1]: (b - a) / max(a, b) with a the mean Euclidean distance to the own
// cluster and b to the nearest other one; 0 for a point alone. InvalidArgument for fewer than two clusters or lists of
// different lengths.
Result<double> silhouette(std::span<const std::vector<double>> points, std::span<const std::size_t> assignment);

// Groups of points linked by steps of at most `threshold` cosine distance (single linkage); groups in order of their
// first point.
Result<std::vector<std::vector<std::size_t>>> hierarchical_group(std::span<const std::vector<double>> points,
                                                                 double threshold);

// A tensor of a checkpoint or a network.
struct NamedTensor {
  std::string name;
  Shape shape = Shape::of({1});
  std::vector<float> values;  // empty: they are not at hand
};
// The tensors under one "...layers.N.block" prefix.
struct TensorGroup {
  std::string prefix;  // "model.layers.3.self_attn"
  std::size_t layer = 0;
  std::string block;                 // "self_attn"; empty for what stands in the layer itself
  std::vector<NamedTensor> tensors;  // with their values; never empty
};
struct TensorGrouping {
  std::vector<TensorGroup> groups;      // in order of first appearance
  std::vector<std::string> unresolved;  // names without such a prefix, without values or with too few: "NAME: why"
};
TensorGrouping group_tensors(std::vector<NamedTensor> tensors);
// The weights of a network under their paths.
std::vector<NamedTensor> tensors_of(const Network& network);

}  // namespace loom
