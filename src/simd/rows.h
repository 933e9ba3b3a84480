#pragma once
// Walking a row of any length in steps of sixteen lanes. A row that is no multiple of sixteen sees +0 in the lanes
// beyond it: sums are not changed by them, stores leave them out.

#include "simd/simd64.h"

namespace loom::inline LOOM_TARGET {

// The correctly rounded root of one number (ops on lanes have sqrt).
LOOM_INLINE float square_root(float x) { return __builtin_sqrtf(x); }
LOOM_INLINE double square_root(double x) { return __builtin_sqrt(x); }

struct FullLanes {
  template <class T>
  LOOM_INLINE Lanes<T> load(const T* p) const {
    return LOOM_TARGET::load(p);
  }
  template <class T>
  LOOM_INLINE void store(T* p, const Lanes<T>& v) const {
    LOOM_TARGET::store(p, v);
  }
  template <class V>
  LOOM_INLINE V keep(const V& v) const {
    return v;
  }
};

// Less than sixteen elements, in pieces of eight, four, two and one: of a loop compilers make a call.
template <class T>
LOOM_INLINE void copy_tail(T* to, const T* from, std::size_t n) {
  const auto piece = [&]<std::size_t kSize>(std::integral_constant<std::size_t, kSize>) {
    if ((n & kSize) == 0) return;
    __builtin_memcpy(to, from, kSize * sizeof(T));
    to += kSize, from += kSize;
  };
  piece(std::integral_constant<std::size_t, 8>{}), piece(std::integral_constant<std::size_t, 4>{});
  piece(std::integral_constant<std::size_t, 2>{}), piece(std::integral_constant<std::size_t, 1>{});
}

struct TailLanes {
  std::size_t n;  // 1..15
  template <class T>
  LOOM_INLINE Lanes<T> load(const T* p) const {
    alignas(64) T lanes[kLanes] = {};
    copy_tail(lanes, p, n);
    return LOOM_TARGET::load(lanes);
  }
  template <class T>
  LOOM_INLINE void store(T* p, const Lanes<T>& v) const {
    alignas(64) T lanes[kLanes];
    LOOM_TARGET::store(lanes, v);
    copy_tail(p, lanes, n);
  }
  // v with the lanes beyond the row set to +0.
  template <class V>
  LOOM_INLINE V keep(const V& v) const {
    using T = std::conditional_t<std::is_same_v<V, F32x16>, float, double>;
    alignas(64) T lanes[kLanes];
    LOOM_TARGET::store(lanes, v);
    for (std::size_t i = n; i < kLanes; ++i) lanes[i] = 0;
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

// One sum by lanes16 of vectors that come one by one, ascending; end_block() follows the last of every kLaneBlock
// elements and the very last.
template <class T>
struct LaneSum {
  Lanes<T> total = zeros<T>(), block = zeros<T>();
  LOOM_INLINE void add(const Lanes<T>& v) { block = block + v; }
  LOOM_INLINE void end_block() { total = total + block, block = zeros<T>(); }
};

// f(i, lanes) for i = 0, 16, 32, ... and end() after every kLaneBlock elements and after the last: for the sums of f.
template <class F, class End>
LOOM_INLINE void for_lane_blocks(std::size_t n, F&& f, End&& end) {
  for (std::size_t first = 0; first < n; first += kLaneBlock) {
    for_lanes(n - first < kLaneBlock ? n - first : kLaneBlock, [&](std::size_t i, auto lanes) { f(first + i, lanes); });
    end();
  }
}

// The sum of a row of n numbers by lanes16, sixteen of them at a time: term(i, lanes), +0 in lanes beyond the row.
template <class T, class F>
  requires requires(F& term) { term(std::size_t{}, FullLanes{}); }
LOOM_INLINE T lanes16(std::size_t n, F&& term) {
  LaneSum<T> sum;
  for_lane_blocks(n, [&](std::size_t i, auto lanes) { sum.add(term(i, lanes)); }, [&] { sum.end_block(); });
  return fold(sum.total);
}

}  // namespace loom::inline LOOM_TARGET
