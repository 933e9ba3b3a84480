#pragma once

#include "simd/rows.h"

namespace loom::inline LOOM_TARGET {

// The snapped sum of a_i b_i by lanes16.
template <class T>
LOOM_INLINE T row_dot(const T* a, const T* b, std::size_t n) {
  return snap(lanes16<T>(n, [&](std::size_t i, auto lanes) { return lanes.load(a + i) * lanes.load(b + i); }));
}

}  // namespace loom::inline LOOM_TARGET
