#pragma once
#include <cstdint>

namespace loom {

// Changes with any bit of any result (docs/internals/numerics.md); stored in every file and reported by every program.
inline constexpr std::uint32_t kNumericsVersion = 2;

}  // namespace loom
