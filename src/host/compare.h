#pragma once
// Two networks side by side: what differs between their specs and weights.

#include <string>
#include <vector>

#include "core/json_fwd.h"
#include "network/network.h"

namespace loom {

struct WeightDifference {
  std::string path, note;  // note: "only in the first", "shapes ... and ..."
  std::string dtype_a, dtype_b;
  double largest = 0, cosine = 1;
  bool equal = true;
};
struct NetworkComparison {
  bool equal = true;  // specs and weights, values and types
  std::vector<WeightDifference> weights;
};
// One entry per weight of either network, in the order of the first, then what only the second has.
NetworkComparison compare_networks(const Network& a, const Network& b);

Json to_json(const WeightDifference& difference);
Json to_json(const NetworkComparison& comparison);

}  // namespace loom
