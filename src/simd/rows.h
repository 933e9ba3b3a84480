#pragma once
// Walks a row sixteen elements at a time. The last step of a row that is no multiple of sixteen sees +0 in the lanes beyond it:
// sums are not changed by them, stores leave them out.

#include "simd/simd.h"

namespace loom::inline LOOM_TARGET {

struct FullLanes {
  LOOM_INLINE F32x16 load(const float* p) const { return LOOM_TARGET::load(p); }
  LOOM_INLINE void store(float* p, const F32x16& v) const { LOOM_TARGET::store(p, v); }
  LOOM_INLINE F32x16 keep(const F32x16& v) const { return v; }
};

struct TailLanes {
  std::size_t n;  // 1..15
  LOOM_INLINE F32x16 load(const float* p) const {
    alignas(64) float lanes[kLanes] = {};
    for (std::size_t i = 0; i < n; ++i) lanes[i] = p[i];
    return LOOM_TARGET::load(lanes);
  }
  LOOM_INLINE void store(float* p, const F32x16& v) const {
    alignas(64) float lanes[kLanes];
    LOOM_TARGET::store(lanes, v);
    for (std::size_t i = 0; i < n; ++i) p[i] = lanes[i];
  }
  // v with the lanes beyond the row set to +0.
  LOOM_INLINE F32x16 keep(const F32x16& v) const {
    alignas(64) float lanes[kLanes];
    LOOM_TARGET::store(lanes, v);
    for (std::size_t i = n; i < kLanes; ++i) lanes[i] = 0.0f;
    return LOOM_TARGET::load(lanes);
  }
};

// f(i, lanes) for i = 0, 16, 32, ...
template <class F>
LOOM_INLINE void for_lanes(std::size_t n, F&& f) {
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) f(i, FullLanes{});
  if (i < n) f(i, TailLanes{n - i});
}

}  // namespace loom::inline LOOM_TARGET
