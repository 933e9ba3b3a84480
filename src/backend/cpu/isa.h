#pragma once
// The kernels use one of several instruction sets. The choice decides the speed alone: every one gives the same bits.
// simd/targets.inc lists them.

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
// Whether it was compiled in and this CPU supports it; tiles must have given exact sums too
// (simd/tile_probe_tiles.cpp).
bool is_usable(Isa isa);
// All such, weakest first.
std::vector<Isa> usable_isas();
// The strongest of them.
Isa best_isa();

}  // namespace loom
