#include "backend/cpu/isa.h"

#include <iterator>

#include "loom_targets.h"

namespace loom {

#define LOOM_DECLARE(variant, target) \
  namespace variant {                 \
  bool has_exact_tiles();             \
  }
LOOM_TILE_VARIANTS(LOOM_DECLARE)
#undef LOOM_DECLARE

std::string_view name(Isa isa) { return kIsaNames[static_cast<std::size_t>(isa)]; }

std::string isa_names(std::string_view between) { return fmt::format("{}", fmt::join(kIsaNames, between)); }

Result<Isa> isa_from_name(std::string_view text) {
  for (std::size_t i = 0; i < std::size(kIsaNames); ++i)
    if (text == kIsaNames[i]) return static_cast<Isa>(i);
  return fail(Code::UnknownName, "instruction set \"{}\" is unknown; known: {}", text.substr(0, 40), isa_names(" "));
}

bool is_usable(Isa isa) {
#define LOOM_OFFER(variant, target)                                     \
  if (isa == Isa::variant) {                                            \
    static const bool is = cpu_runs(isa) && variant::has_exact_tiles(); \
    return is;                                                          \
  }
  LOOM_TILE_VARIANTS(LOOM_OFFER)
#undef LOOM_OFFER
#define LOOM_OFFER(name, ...) \
  if (isa == Isa::name) return cpu_runs(isa);
  LOOM_COMPILED_TARGETS(LOOM_OFFER)
  LOOM_COMPILED_VARIANTS(LOOM_OFFER)
#undef LOOM_OFFER
  return false;
}

std::vector<Isa> usable_isas() {
  std::vector<Isa> out;
  for (std::size_t i = 0; i < std::size(kIsaNames); ++i)
    if (is_usable(static_cast<Isa>(i))) out.push_back(static_cast<Isa>(i));
  return out;
}

Isa best_isa() {
  const std::vector<Isa> usable = usable_isas();
  return usable.empty() ? Isa::scalar : usable.back();  // scalar may be left out of a library: kernels_for() says so
}

}  // namespace loom
