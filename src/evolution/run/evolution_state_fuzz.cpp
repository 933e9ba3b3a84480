// Any text as state.json, as it is and with its hash made right: a population that goes on, or an Error.

#include "evolution/population/islands.h"
#include "evolution/run/state.h"

namespace {

void read(std::string_view text) {
  using namespace loom;
  const auto state = parse_evolution_state(text);
  if (!state) return;
  LOOM_ASSERT(state->identity.is_object());
  IslandsConfig config;
  config.population.size = 2;
  const auto islands = Islands::restore(state->islands, 1, config, Shape::of({4, 2}));
  if (!islands) return;
  LOOM_ASSERT(islands->populations().size() == 1);
  static_cast<void>(islands->best_member());
  static_cast<void>(islands->state());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace loom;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  read(text);
  constexpr std::string_view kSealed = ",\"sha256\":\"";
  const std::size_t end = text.rfind(kSealed);
  const std::string_view open = end == text.npos ? text : text.substr(0, end);
  Sha256 hash;
  hash.update(std::as_bytes(std::span(open)));
  read(fmt::format("{}{}{}\"}}", open, kSealed, to_hex(hash.finish())));
  return 0;
}
