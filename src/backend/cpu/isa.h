#pragma once
// Which instruction set the kernels use. A choice of speed only: every one gives the same bits. The list of them:
// simd/targets.inc.

#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "simd/target.h"

namespace loom {

std::string_view name(Isa isa);
// All that Loom knows, for messages: "scalar, sse4, ..." with `between` between the names.
std::string isa_names(std::string_view between);
// UnknownName with the list of names.
Result<Isa> isa_from_name(std::string_view text);
// Compiled in and supported by this CPU, weakest first.
std::vector<Isa> usable_isas();
// The strongest of them.
Isa best_isa();

}  // namespace loom
