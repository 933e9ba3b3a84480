#include "backend/cpu/isa.h"

#include <iterator>

#include "loom_targets.h"

namespace loom {

std::string_view name(Isa isa) { return kIsaNames[static_cast<std::size_t>(isa)]; }

std::string isa_names(std::string_view between) { return fmt::format("{}", fmt::join(kIsaNames, between)); }

Result<Isa> isa_from_name(std::string_view text) {
  for (std::size_t i = 0; i < std::size(kIsaNames); ++i)
    if (text == kIsaNames[i]) return static_cast<Isa>(i);
  return fail(Code::UnknownName, "instruction set \"{}\" is unknown; known: {}", text.substr(0, 40), isa_names(" "));
}

std::vector<Isa> usable_isas() {
  std::vector<Isa> out;
#define LOOM_ADD(target) \
  if (cpu_runs(Isa::target)) out.push_back(Isa::target);
  LOOM_COMPILED_TARGETS(LOOM_ADD)
#undef LOOM_ADD
  return out;
}

Isa best_isa() {
  const std::vector<Isa> usable = usable_isas();
  return usable.empty() ? Isa::scalar : usable.back();  // scalar may be left out of a library: kernels_for() says so
}

}  // namespace loom
