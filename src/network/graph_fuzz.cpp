// Any text as a graph in a layer's spec: an Error, or a plan that worked no more on constants than its budget allows,
// by the planner's own account and by one that shares nothing with it.

#include <chrono>

#include "core/json.h"
#include "graph/folding.h"
#include "network/graph_work.h"
#include "network/spec/spec.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace loom;
  auto given = parse_json(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!given) return 0;
  SpecOptions options;
  options.max_weights = 1 << 16;
  const graph::FoldingBudget budget;  // shared by all that is planned below
  const auto begun = std::chrono::steady_clock::now();
  const double by_textbook = GraphWork::of(*given);
  auto spec = network_from_json(Json{{"layers", {{{"type", "graph"}, {"graph", *std::move(given)}}}}}, options);
  const bool planned = spec && ForwardPlan::create(spec->network, Shape::of({1, 2}));
  LOOM_ASSERT(budget.spent() <= budget.most());
  LOOM_ASSERT(!planned || by_textbook <= static_cast<double>(budget.most()));
  // A file of this size holds few constants: what is beyond this time was not counted.
  LOOM_ASSERT(std::chrono::steady_clock::now() - begun < std::chrono::seconds(50));
  return 0;
}
