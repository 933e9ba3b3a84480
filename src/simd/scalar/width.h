#pragma once
#include <cstddef>

namespace loom::inline LOOM_TARGET {
inline constexpr std::size_t kRegisterBytes = 4;
}
