#pragma once
// These functions tell by their bits which numbers are not finite. A comparison could not: a shader may assume that
// infinities and NaNs do not occur, and then x == x holds everywhere. simd.h and simd64.h have them for lanes.

#include <limits>

#include "simd/simd64.h"

namespace loom::inline LOOM_TARGET {

namespace detail {
inline constexpr std::uint32_t kInfinityBits = 0x7f800000u;
inline constexpr std::uint64_t kInfinityBits64 = 0x7ff0000000000000u;
LOOM_INLINE std::uint32_t magnitude_of(float x) { return __builtin_bit_cast(std::uint32_t, x) & 0x7fffffffu; }
LOOM_INLINE std::uint64_t magnitude_of(double x) { return __builtin_bit_cast(std::uint64_t, x) & 0x7fffffffffffffffu; }
}  // namespace detail

LOOM_INLINE bool is_nan(float x) { return detail::magnitude_of(x) > detail::kInfinityBits; }
LOOM_INLINE bool is_nan(double x) { return detail::magnitude_of(x) > detail::kInfinityBits64; }
LOOM_INLINE bool is_finite(float x) { return detail::magnitude_of(x) < detail::kInfinityBits; }
LOOM_INLINE bool is_finite(double x) { return detail::magnitude_of(x) < detail::kInfinityBits64; }

// A search for the largest begins at this number, which also stands in lanes that take no part in it. An infinity is
// not needed: a row with nothing above this number holds no finite one.
template <class T>
inline constexpr T kLowest = std::numeric_limits<T>::lowest();

template <class T>
LOOM_INLINE T quiet_nan_of() {
  if constexpr (sizeof(T) == 8)
    return __builtin_bit_cast(double, kQuietNan64);
  else
    return __builtin_bit_cast(float, kQuietNan);
}

}  // namespace loom::inline LOOM_TARGET
