#pragma once
// The loop that the rules of updates share.

#include "ops/update/rule.h"
#include "simd/rows.h"

namespace loom::inline LOOM_TARGET {

template <class T>
LOOM_INLINE Lanes<T> snap_square(const Lanes<T>& v) {
  return select(v < splat(static_cast<T>(sizeof(T) == 8 ? 0x1p-960 : 0x1p-100)), zeros<T>(), v);
}

// f(i, lanes, w, g) gives sixteen new weights, which are snapped.
template <class T, class F>
LOOM_INLINE void update_each(const UpdateRun<T>& run, F&& f) {
  if (run.failed != nullptr && *run.failed != 0) return;
  for_lanes(run.count, [&](std::size_t i, auto lanes) {
    lanes.store(run.w + i, snap(f(i, lanes, lanes.load(run.w + i), lanes.load(run.g + i))));
  });
}

}  // namespace loom::inline LOOM_TARGET
