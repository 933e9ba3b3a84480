#pragma once
// Which instruction set the kernels use. A choice of speed only: every one gives the same bits.

#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace loom {

enum class Isa { scalar, sse4, avx2, avx512, neon, wasm128 };

std::string_view name(Isa isa);
// UnknownName with the list of names.
Result<Isa> isa_from_name(std::string_view text);
// Compiled in and supported by this CPU, weakest first.
std::vector<Isa> usable_isas();
// The strongest of them.
Isa best_isa();

}  // namespace loom
