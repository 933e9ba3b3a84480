#pragma once
// This header lists the SIMD targets and says which of them this CPU can run. Tables of kernels are in the namespace
// named after their target; LOOM_COMPILED_TARGETS(X) of "loom_targets.h", which the build writes, expands X(name) for
// each that was compiled in, weakest first, LOOM_COMPILED_VARIANTS(X) X(name, target), and LOOM_TILE_VARIANTS(X) the
// latter for those with registers of tiles.

namespace loom {

enum class Isa {
#define LOOM_SIMD_TARGET(name, ...) name,
#define LOOM_SIMD_VARIANT(name, ...) name,
#include "simd/targets.inc"
};
// The names stand in the order of the enumerators.
inline constexpr const char* kIsaNames[] = {
#define LOOM_SIMD_TARGET(name, ...) #name,
#define LOOM_SIMD_VARIANT(name, ...) #name,
#include "simd/targets.inc"
};

// Returns whether this CPU, and the operating system, have what the kernels of the target were compiled with.
bool cpu_runs(Isa isa);

}  // namespace loom
