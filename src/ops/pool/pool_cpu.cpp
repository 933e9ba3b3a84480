#include "ops/non_finite.h"
#include "ops/pool/pool.h"
#include "simd/rows.h"

namespace loom::inline LOOM_TARGET {
namespace {

constexpr std::size_t kChunk = 256;  // outputs whose accumulators stay in the first-level cache

// f(tap of the window, input row, its taps) for each row of the window that is inside the input, ascending.
template <class T, class F>
LOOM_INLINE void for_window_rows(const PoolGeometry& g, const T* plane, std::size_t oz, std::size_t oy, F&& f) {
  for (std::size_t z = 0; z < g.kernel[0]; ++z)
    for (std::size_t y = 0; y < g.kernel[1]; ++y) {
      const std::size_t iz = oz * g.stride[0] + z * g.dilation[0] - g.padding[0],
                        iy = oy * g.stride[1] + y * g.dilation[1] - g.padding[1];
      if (iz < g.in[0] && iy < g.in[1])  // wraps outside
        f((z * g.kernel[1] + y) * g.kernel[2], plane + (iz * g.in[1] + iy) * g.in[2]);
    }
}

// into[o] = join(into[o], the input under this tap) for the outputs [begin, end) that the tap covers; into[0] is output
// `begin`.
template <class T, class Join>
LOOM_INLINE void join_tap(const PoolTap& tap, std::size_t stride, const T* row, std::size_t begin, std::size_t end,
                          T* into, Join join) {
  const std::size_t first = tap.first > begin ? tap.first : begin, last = tap.last < end ? tap.last : end;
  if (first >= last) return;
  const T* from = row + static_cast<std::ptrdiff_t>(first * stride) + tap.offset;
  into += first - begin;
  if (stride == 1)
    for_lanes(last - first, [&](std::size_t i, auto lanes) {
      lanes.store(into + i, join(lanes.load(into + i), lanes.load(from + i)));
    });
  else
    for (std::size_t i = 0; i < last - first; ++i) into[i] = join(into[i], from[i * stride]);
}

struct Larger {
  template <class T>
  LOOM_INLINE T operator()(T a, T b) const {
    return b > a ? b : a;
  }
  LOOM_INLINE F32x16 operator()(const F32x16& a, const F32x16& b) const { return max(b, a); }
  LOOM_INLINE F64x16 operator()(const F64x16& a, const F64x16& b) const { return max(b, a); }
};

// Every second lane of two vectors, from lane First on.
template <std::size_t First, std::size_t... I>
LOOM_INLINE native::F32 every_second(const native::F32& a, const native::F32& b, std::index_sequence<I...>) {
  return __builtin_shufflevector(a, b, (2 * I + First)...);
}
template <std::size_t First>
LOOM_INLINE F32x16 every_second(const F32x16& low, const F32x16& high) {
  const auto part = [&](std::size_t i) { return i < kRegisters ? low.r[i] : high.r[i - kRegisters]; };
  F32x16 v;
  for (std::size_t i = 0; i < kRegisters; ++i)
    v.r[i] = every_second<First>(part(2 * i), part(2 * i + 1), std::make_index_sequence<kRegisterLanes>());
  return v;
}

// Pairs of columns: the largest of both columns, then of the pair. The order does not show, since neither a NaN nor the
// sign of a zero comes through.
bool is_of_pairs(const PoolGeometry& g, std::size_t outputs) {
  return g.stride[2] == 2 && g.kernel[2] == 2 && g.dilation[2] == 1 && g.padding[2] == 0 && 2 * outputs <= g.in[2];
}
void max_row_of_pairs(const PoolGeometry& g, std::size_t outputs, const float* plane, std::size_t oz, std::size_t oy,
                      float* y) {
  for_lanes(outputs, [&](std::size_t i, auto lanes) {
    const F32x16 lowest = splat(-__builtin_huge_valf());
    F32x16 low = lowest, high = lowest;
    const std::size_t columns = 2 * (outputs - i < kLanes ? outputs - i : kLanes);
    for_window_rows(g, plane, oz, oy, [&](std::size_t, const float* row) {
      const float* const from = row + 2 * i;
      low = max(columns < kLanes ? TailLanes{columns}.load(from) : load(from), low);
      if (columns == 2 * kLanes)
        high = max(load(from + kLanes), high);
      else if (columns > kLanes)
        high = max(TailLanes{columns - kLanes}.load(from + kLanes), high);
    });
    lanes.store(y + i, snap(max(every_second<1>(low, high), every_second<0>(low, high))));
  });
}

// Other windows that move by two: the largest of each column, then of the columns of each window.
constexpr std::size_t kMostColumns = 1024;  // of a chunk, in the first-level cache
bool fits_columns(const PoolGeometry& g) {
  return g.stride[2] == 2 && (g.kernel[2] - 1) * g.dilation[2] + 2 * kChunk + 2 * kLanes <= kMostColumns;
}
void max_row_by_columns(const PoolGeometry& g, std::size_t outputs, const float* plane, std::size_t oz, std::size_t oy,
                        float* y) {
  const F32x16 lowest = splat(-__builtin_huge_valf());
  for (std::size_t begin = 0; begin < outputs; begin += kChunk) {
    const std::size_t n = outputs - begin < kChunk ? outputs - begin : kChunk;
    const std::size_t columns = 2 * (n - 1) + (g.kernel[2] - 1) * g.dilation[2] + 1;
    const std::size_t start = 2 * begin;  // of the padded row
    const std::size_t first = start < g.padding[2] ? g.padding[2] - start : 0, row_end = g.in[2] + g.padding[2];
    const std::size_t last = row_end < start + columns ? (row_end < start ? 0 : row_end - start) : columns;
    alignas(64) float largest[kMostColumns];
    for (std::size_t i = 0; i < columns + 2 * kLanes; i += kLanes) store(largest + i, lowest);
    if (first < last)
      for_window_rows(g, plane, oz, oy, [&](std::size_t, const float* row) {
        const float* const from = row + (start + first - g.padding[2]);
        for_lanes(last - first, [&](std::size_t i, auto lanes) {
          lanes.store(largest + first + i, max(lanes.load(from + i), lanes.load(largest + first + i)));
        });
      });
    for_lanes(n, [&](std::size_t i, auto lanes) {
      F32x16 v = lowest;
      for (std::size_t k = 0; k < g.kernel[2]; ++k) {
        const float* const from = largest + 2 * i + k * g.dilation[2];
        v = max(every_second<0>(load(from), load(from + kLanes)), v);
      }
      lanes.store(y + begin + i, snap(v));
    });
  }
}

template <class T>
void max_row(const PoolGeometry& g, std::size_t outputs, const PoolTap* taps, const T* plane, std::size_t oz,
             std::size_t oy, T* y) {
  if constexpr (sizeof(T) == 4) {
    if (is_of_pairs(g, outputs)) return max_row_of_pairs(g, outputs, plane, oz, oy, y);
    if (fits_columns(g)) return max_row_by_columns(g, outputs, plane, oz, oy, y);
  }
  for (std::size_t begin = 0; begin < outputs; begin += kChunk) {
    const std::size_t end = outputs - begin < kChunk ? outputs : begin + kChunk;
    for (std::size_t o = begin; o < end; ++o) y[o] = -static_cast<T>(__builtin_huge_val());
    for_window_rows(g, plane, oz, oy, [&](std::size_t, const T* row) {
      for (std::size_t k = 0; k < g.kernel[2]; ++k)
        join_tap(taps[k], g.stride[2], row, begin, end, y + begin, Larger{});
    });
    for_lanes(end - begin,
              [&](std::size_t i, auto lanes) { lanes.store(y + begin + i, snap(lanes.load(y + begin + i))); });
  }
}

template <class T>
void average_row(const PoolGeometry& g, std::size_t outputs, const PoolTap* taps, const T* plane, std::size_t oz,
                 std::size_t oy, const T* count, T* y) {
  alignas(64) T block[kChunk];
  for (std::size_t begin = 0; begin < outputs; begin += kChunk) {
    const std::size_t end = outputs - begin < kChunk ? outputs : begin + kChunk, n = end - begin;
    T* total = y + begin;
    for (std::size_t i = 0; i < n; ++i) total[i] = 0, block[i] = 0;
    const auto close_block = [&] {
      for_lanes(n, [&](std::size_t i, auto lanes) {
        lanes.store(total + i, lanes.load(total + i) + lanes.load(block + i));
        lanes.store(block + i, zeros<T>());
      });
    };
    std::size_t block_index = 0;
    for_window_rows(g, plane, oz, oy, [&](std::size_t tap, const T* row) {
      for (std::size_t k = 0; k < g.kernel[2]; ++k, ++tap) {
        if (tap / kChain != block_index) {
          close_block();
          block_index = tap / kChain;
        }
        join_tap(taps[k], g.stride[2], row, begin, end, block, [](const auto& a, const auto& b) { return a + b; });
      }
    });
    for_lanes(n, [&](std::size_t i, auto lanes) {
      lanes.store(total + i, snap((lanes.load(total + i) + lanes.load(block + i)) / lanes.load(count + begin + i)));
    });
  }
}

template <class T>
T mean(const T* x, std::size_t n) {
  return snap(lanes16<T>(n, [&](std::size_t i, auto lanes) { return lanes.load(x + i); }) / static_cast<T>(n));
}

template <class T>
T largest(const T* x, std::size_t n) {
  Lanes<T> most = splat(-static_cast<T>(__builtin_huge_val()));
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) most = max(load(x + i), most);
  T one = max_lane(most);
  for (; i < n; ++i) one = x[i] > one ? x[i] : one;
  return snap(one);
}

using Axes = PoolGeometry::Axes;

LOOM_INLINE std::size_t volume(const Axes& a) { return a[0] * a[1] * a[2]; }

// The largest element of a window, the first of equals; NaN never wins. Begins with no winner: at == none.
template <class T>
struct Winner {
  T value;
  std::size_t at;
  LOOM_INLINE void see(std::size_t none, std::size_t i, T v) {
    if (at == none ? !is_nan(v) : v > value) value = v, at = i;
  }
};

template <class T>
void max_scatter(const PoolGeometry& g, const Axes& out, const T* x, const T* dy, T* dx) {
  const std::size_t none = volume(g.in);
  __builtin_memset(dx, 0, none * sizeof(T));
  for (std::size_t oz = 0; oz < out[0]; ++oz)
    for (std::size_t oy = 0; oy < out[1]; ++oy)
      for (std::size_t ox = 0; ox < out[2]; ++ox, ++dy) {
        const std::size_t at = ox * g.stride[2] - g.padding[2];  // wraps outside
        std::size_t winner = none;
        T largest = 0;
        for (std::size_t z = 0; z < g.kernel[0]; ++z)
          for (std::size_t y = 0; y < g.kernel[1]; ++y) {
            const std::size_t iz = oz * g.stride[0] + z - g.padding[0], iy = oy * g.stride[1] + y - g.padding[1];
            if (iz >= g.in[0] || iy >= g.in[1]) continue;
            const std::size_t row = (iz * g.in[1] + iy) * g.in[2];
            for (std::size_t k = 0; k < g.kernel[2]; ++k) {
              const std::size_t ix = at + k;
              if (ix >= g.in[2]) continue;
              const T v = x[row + ix];
              if (winner == none ? !is_nan(v) : v > largest) largest = v, winner = row + ix;
            }
          }
        if (winner != none) dx[winner] = snap(*dy);
      }
}

// Outputs of one axis whose windows cover an input position: first, first + 1, ... (holes of a dilation among them).
struct Covering {
  std::size_t first, last, position;  // position counts from the start of the padding
  LOOM_INLINE Covering(const PoolGeometry& g, const Axes& out, std::size_t axis, std::size_t i)
      : position(i + g.padding[axis]) {
    const std::size_t reach = g.dilation[axis] * (g.kernel[axis] - 1), s = g.stride[axis];
    first = position <= reach ? 0 : (position - reach + s - 1) / s;
    last = position / s + 1 < out[axis] ? position / s + 1 : out[axis];
  }
  // Sets `after` to the number of taps of the window after the one at this position; false in a hole.
  LOOM_INLINE bool tap(const PoolGeometry& g, std::size_t axis, std::size_t o, std::size_t& after) const {
    const std::size_t from_start = position - o * g.stride[axis], d = g.dilation[axis];
    after = g.kernel[axis] - 1 - from_start / d;
    return d == 1 || from_start % d == 0;
  }
};

// The sum of value(output) over the windows that cover element i of a plane: chain64 over their mirrored taps.
template <class T, class Value>
LOOM_INLINE T gathered(const PoolGeometry& g, const Axes& out, const Covering& z, const Covering& y, const Covering& x,
                       Value&& value) {
  Chain64<T> sum;
  std::size_t tz = 0, ty = 0, tx = 0;
  for (std::size_t oz = z.first; oz < z.last; ++oz) {
    if (!z.tap(g, 0, oz, tz)) continue;
    for (std::size_t oy = y.first; oy < y.last; ++oy) {
      if (!y.tap(g, 1, oy, ty)) continue;
      for (std::size_t ox = x.first; ox < x.last; ++ox) {
        if (!x.tap(g, 2, ox, tx)) continue;
        sum.add((tz * g.kernel[1] + ty) * g.kernel[2] + tx, value((oz * out[1] + oy) * out[2] + ox));
      }
    }
  }
  return sum.total();
}

// dx[i] = gathered value(i, output) for every element of a plane.
template <class T, class Value>
LOOM_INLINE void gather_plane(const PoolGeometry& g, const Axes& out, T* dx, Value&& value) {
  std::size_t i = 0;
  for (std::size_t z = 0; z < g.in[0]; ++z)
    for (std::size_t y = 0; y < g.in[1]; ++y)
      for (std::size_t x = 0; x < g.in[2]; ++x, ++i)
        dx[i] = snap(gathered<T>(g, out, Covering(g, out, 0, z), Covering(g, out, 1, y), Covering(g, out, 2, x),
                                 [&](std::size_t o) { return value(i, o); }));
}

template <class T>
void max_backward(const PoolGeometry& g, const Axes& out, const T* x, const T* dy, std::size_t* winners, T* dx) {
  const std::size_t none = volume(g.in);
  for (std::size_t oz = 0, o = 0; oz < out[0]; ++oz)
    for (std::size_t oy = 0; oy < out[1]; ++oy)
      for (std::size_t ox = 0; ox < out[2]; ++ox, ++o) {
        Winner<T> best{0, none};
        for_window_rows(g, x, oz, oy, [&](std::size_t, const T* row) {
          for (std::size_t k = 0; k < g.kernel[2]; ++k)
            if (const std::size_t ix = ox * g.stride[2] + k * g.dilation[2] - g.padding[2]; ix < g.in[2])
              best.see(none, static_cast<std::size_t>(row - x) + ix, row[ix]);
        });
        winners[o] = best.at;
      }
  gather_plane(g, out, dx, [&](std::size_t i, std::size_t o) { return winners[o] == i ? dy[o] : T{0}; });
}

template <class T>
void average_backward(const PoolGeometry& g, const Axes& out, const T* count, const T* dy, T* shares, T* dx) {
  const std::size_t outputs = volume(out);
  for (std::size_t o = 0; o < outputs; ++o) shares[o] = count == nullptr ? dy[o] : snap(dy[o] / count[o]);
  gather_plane(g, out, dx, [&](std::size_t, std::size_t o) { return shares[o]; });
}

template <class T>
constexpr PoolKernels<T> kKernels = {
    .max_row = max_row<T>,
    .average_row = average_row<T>,
    .mean = mean<T>,
    .largest = largest<T>,
    .max_scatter = max_scatter<T>,
    .max_backward = max_backward<T>,
    .average_backward = average_backward<T>,
};

}  // namespace

extern const PerElement<PoolKernels> pool_kernels;
const PerElement<PoolKernels> pool_kernels = {kKernels<float>, kKernels<double>};

}  // namespace loom::inline LOOM_TARGET
