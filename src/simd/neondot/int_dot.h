#pragma once
// Integer dots of one panel slice on AArch64 with the dot-product extension. Contract: simd/scalar/int_dot.h.

#include "simd/neondot/dots.h"

namespace loom::inline LOOM_TARGET {

inline constexpr bool kHasPairs = false;

}  // namespace loom::inline LOOM_TARGET
