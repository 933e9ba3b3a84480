#include "backend/cpu/isa.h"

#include <array>
#include <utility>

#include "simd/target.h"

namespace loom {
namespace {

constexpr std::array<std::pair<Isa, std::string_view>, 6> kNames = {
    {{Isa::scalar, "scalar"}, {Isa::sse4, "sse4"}, {Isa::avx2, "avx2"}, {Isa::avx512, "avx512"}, {Isa::neon, "neon"}, {Isa::wasm128, "wasm128"}}};

}  // namespace

std::string_view name(Isa isa) {
  for (const auto& [value, text] : kNames)
    if (value == isa) return text;
  return "scalar";
}

Result<Isa> isa_from_name(std::string_view text) {
  for (const auto& [value, known] : kNames)
    if (known == text) return value;
  return fail(Code::UnknownName, "instruction set \"{}\" is unknown; known: scalar sse4 avx2 avx512 neon wasm128", text.substr(0, 40));
}

std::vector<Isa> usable_isas() {
  std::vector<Isa> out;
#define LOOM_ADD(target) \
  if (cpu_runs(Target::target)) out.push_back(Isa::target);
  LOOM_COMPILED_TARGETS(LOOM_ADD)
#undef LOOM_ADD
  return out;
}

Isa best_isa() { return usable_isas().back(); }

}  // namespace loom
