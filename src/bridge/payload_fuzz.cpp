// Any text as a stream's payload: an Error, or a network whose layers hold what the payload brought. Small ones run.

#include <cstdint>

#include "bridge/bridge_run.h"
#include "core/json.h"
#include "network/plan/forward_plan.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace loom;
  const auto payload = parse_json(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!payload) return 0;
  auto bridge = network_from_payload(*payload);
  if (!bridge) return 0;
  LOOM_ASSERT(bridge->cells.size() == bridge->kinds.size());
  LOOM_ASSERT(bridge->weight_bytes <= (size + 4096) * 4096);
  const auto plan = ForwardPlan::create(bridge->network, Network::with_batch(bridge->sample, 1));
  LOOM_ASSERT(plan);
  std::size_t total = 0;
  for (std::size_t i = 0; i < bridge->network.num_cells(); ++i) {
    const std::size_t elements = (*plan)->shape_after(i).elements();
    if (elements > (1 << 16) || (total += elements) > (1 << 16)) return 0;
  }
  BridgeSamples samples;
  if (has_inputs(*payload)) {
    auto given = samples_of_request(*bridge, *payload);
    if (!given || given->rows.size() > (1 << 12)) return 0;
    samples = std::move(*given);
  } else {
    samples.count = 1;
    samples.rows.assign(bridge->sample.elements(), 0.5);
    if (bridge->inputs.back().is_external) samples.external = samples.rows;
  }
  StreamOptions options;
  options.threads = 1, options.max_bytes = std::size_t{64} << 20;
  static_cast<void>(run_samples(bridge->network, samples, *bridge, bridge->cells, options));
  return 0;
}
