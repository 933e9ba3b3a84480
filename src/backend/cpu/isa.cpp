#include "backend/cpu/isa.h"

#include <array>
#include <utility>

namespace loom {
namespace {

constexpr std::array<std::pair<Isa, std::string_view>, 6> kNames = {
    {{Isa::scalar, "scalar"}, {Isa::sse4, "sse4"}, {Isa::avx2, "avx2"}, {Isa::avx512, "avx512"}, {Isa::neon, "neon"}, {Isa::wasm128, "wasm128"}}};

bool cpu_has(Isa isa) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  switch (isa) {
    case Isa::scalar: return true;
    case Isa::sse4: return __builtin_cpu_supports("sse4.1") && __builtin_cpu_supports("ssse3");
    case Isa::avx2: return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi2");
    case Isa::avx512:
      return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vnni");
    default: return false;
  }
#else
  (void)isa;
  return true;  // one choice beside scalar, part of the platform
#endif
}

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
  for (const Isa compiled : {
#define LOOM_COMPILED_TARGET(t) Isa::t,
#include "backend/cpu/targets.inc"
#undef LOOM_COMPILED_TARGET
       })
    if (cpu_has(compiled)) out.push_back(compiled);
  return out;
}

Isa best_isa() { return usable_isas().back(); }

}  // namespace loom
