#pragma once
// Limits of a safetensors header.

#include <cstddef>

namespace loom {

inline constexpr std::size_t kMaxSafetensorsHeader = std::size_t{100} << 20;
inline constexpr std::size_t kMaxSafetensorsRank = 8;

}  // namespace loom
