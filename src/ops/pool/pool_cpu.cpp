#include "ops/pool/pool.h"
#include "simd/rows.h"

namespace loom::inline LOOM_TARGET {
namespace {

constexpr std::size_t kChunk = 256;  // outputs whose accumulators stay in the first-level cache

// f(tap of the window, input row, its taps) for each row of the window that lies in the input, ascending.
template <class T, class F>
LOOM_INLINE void for_window_rows(const PoolGeometry& g, const T* plane, std::size_t oz, std::size_t oy, F&& f) {
  for (std::size_t z = 0; z < g.kernel[0]; ++z)
    for (std::size_t y = 0; y < g.kernel[1]; ++y) {
      const std::size_t iz = oz * g.stride[0] + z * g.dilation[0] - g.padding[0], iy = oy * g.stride[1] + y * g.dilation[1] - g.padding[1];
      if (iz < g.in[0] && iy < g.in[1])  // wraps outside
        f((z * g.kernel[1] + y) * g.kernel[2], plane + (iz * g.in[1] + iy) * g.in[2]);
    }
}

// into[o] = join(into[o], the input under this tap) for the outputs [begin, end) that the tap covers; into[0] is output `begin`.
template <class T, class Join>
LOOM_INLINE void join_tap(const PoolTap& tap, std::size_t stride, const T* row, std::size_t begin, std::size_t end, T* into, Join join) {
  const std::size_t first = tap.first > begin ? tap.first : begin, last = tap.last < end ? tap.last : end;
  if (first >= last) return;
  const T* from = row + static_cast<std::ptrdiff_t>(first * stride) + tap.offset;
  into += first - begin;
  if (stride == 1)
    for_lanes(last - first, [&](std::size_t i, auto lanes) { lanes.store(into + i, join(lanes.load(into + i), lanes.load(from + i))); });
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

template <class T>
void max_row(const PoolGeometry& g, std::size_t outputs, const PoolTap* taps, const T* plane, std::size_t oz, std::size_t oy, T* y) {
  for (std::size_t begin = 0; begin < outputs; begin += kChunk) {
    const std::size_t end = outputs - begin < kChunk ? outputs : begin + kChunk;
    for (std::size_t o = begin; o < end; ++o) y[o] = -static_cast<T>(__builtin_huge_val());
    for_window_rows(g, plane, oz, oy, [&](std::size_t, const T* row) {
      for (std::size_t k = 0; k < g.kernel[2]; ++k) join_tap(taps[k], g.stride[2], row, begin, end, y + begin, Larger{});
    });
    for_lanes(end - begin, [&](std::size_t i, auto lanes) { lanes.store(y + begin + i, snap(lanes.load(y + begin + i))); });
  }
}

template <class T>
void average_row(const PoolGeometry& g, std::size_t outputs, const PoolTap* taps, const T* plane, std::size_t oz, std::size_t oy, const T* count,
                 T* y) {
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
        if (tap / kChain != block_index) close_block(), block_index = tap / kChain;
        join_tap(taps[k], g.stride[2], row, begin, end, block, [](const auto& a, const auto& b) { return a + b; });
      }
    });
    for_lanes(n, [&](std::size_t i, auto lanes) {
      lanes.store(total + i, snap((lanes.load(total + i) + lanes.load(block + i)) / lanes.load(count + begin + i)));
    });
  }
}

template <class T>
constexpr PoolKernels<T> kKernels = {.max_row = max_row<T>, .average_row = average_row<T>};

}  // namespace

extern const PerElement<PoolKernels> pool_kernels;
const PerElement<PoolKernels> pool_kernels = {kKernels<float>, kKernels<double>};

}  // namespace loom::inline LOOM_TARGET
