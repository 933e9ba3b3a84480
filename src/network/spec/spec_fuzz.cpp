// Any text as a network's spec: an Error, or a network whose written form reads back as the same text, and that runs
// when it is small.

#include "core/json.h"
#include "network/session/network_session.h"
#include "network/spec/spec.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace loom;
  SpecOptions options;
  options.max_weights = 1 << 16;
  const auto json = parse_json(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!json) return 0;
  std::int64_t cells = 1;  // a large grid is legal, and shows nothing new
  for (const char* key : {"depth", "rows", "cols", "layers_per_cell"}) {
    const Json* extent = find(*json, key);
    const std::int64_t n = extent == nullptr ? 1 : as_int(*extent).value_or(1);
    if (n > 4096 || (cells *= n < 1 ? 1 : n) > 4096) return 0;
  }
  auto spec = network_from_json(*json, options);
  if (!spec) return 0;
  Network& network = spec->network;
  const Json once = network_to_json(network);
  options.initialise = false;
  const auto again = network_from_json(once, options);
  LOOM_ASSERT(again.has_value());
  LOOM_ASSERT(dump_json(network_to_json(again->network)) == dump_json(once));
  const Shape sample = network.settings.input_shape.value_or(Shape::of({4}));
  if (sample.elements() > 256) return 0;
  const Shape input = Network::with_batch(sample, 2);
  const auto plan = ForwardPlan::create(network, input);
  if (!plan) return 0;
  std::size_t total = 0;
  for (std::size_t i = 0; i < network.num_cells(); ++i) total += (*plan)->shape_after(i).elements();
  if (total > (1 << 16)) return 0;
  const auto session = NetworkSession::create(network, *plan, {1});
  if (!session) return 0;
  if (network.settings.activations == Element::f64) {
    const std::vector<double> x(input.elements(), 0.5);
    static_cast<void>((*session)->forward({x.data(), input, Element::f64}));
  } else {
    const std::vector<float> x(input.elements(), 0.5f);
    static_cast<void>((*session)->forward({x.data(), input}));
  }
  return 0;
}
