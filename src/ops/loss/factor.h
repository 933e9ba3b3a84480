#pragma once
// Single numbers inside the kernels of losses.

#include "ops/non_finite.h"

namespace loom::inline LOOM_TARGET {

// Factors of gradients: a subnormal one is 0, as in RowScale.
template <class T>
LOOM_INLINE T flush_factor(T x) {
  constexpr T kLeastNormal = static_cast<T>(sizeof(T) == 8 ? 0x1p-1022 : 0x1p-126);
  return (x < 0 ? -x : x) < kLeastNormal ? T{0} : x;
}

// `y`, or the quiet NaN where x is an infinity or a NaN: what y was made from has to show in it.
template <class T>
LOOM_INLINE T if_finite(T x, T y) {
  return is_finite(x) ? y : static_cast<T>(__builtin_bit_cast(float, kQuietNan));
}

}  // namespace loom::inline LOOM_TARGET
