// Any text as the configuration of a run, and as the state of one that goes on: an Error, or values within their
// ranges.

#include "core/json.h"
#include "evolution/run/config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace loom;
  if (size == 0) return 0;
  const auto json = parse_json(std::string_view(reinterpret_cast<const char*>(data + 1), size - 1));
  if (!json) return 0;
  if (data[0] % 2 == 0) {
    const auto config = evolution_config_from(*json);
    if (!config) return 0;
    LOOM_ASSERT(config->islands.population.size >= 1 &&
                config->islands.population.elites <= config->islands.population.size);
    LOOM_ASSERT(config->network.is_object() || config->network.is_string());
    return 0;
  }
  IslandsConfig islands;
  islands.population.size = 1;
  static_cast<void>(Islands::restore(*json, 1, islands, Shape::of({2, 2})));
  return 0;
}
