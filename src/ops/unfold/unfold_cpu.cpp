#include "ops/unfold/unfold.h"

#include "simd/rows.h"

namespace loom::inline LOOM_TARGET {
namespace {

// Rows and their borders are short: calls of memset and memcpy for each would take half of the time.
template <class T>
LOOM_INLINE void zero(T* to, std::size_t n) {
  for_lanes(n, [&](std::size_t i, auto lanes) { lanes.store(to + i, zeros<T>()); });
}
template <class T>
LOOM_INLINE void copy(const T* from, std::size_t n, T* to) {
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store(to + i, load(from + i));
  copy_tail(to + i, from + i, n - i);
}

// A row with neither holes nor phases.
template <class T>
LOOM_INLINE void store_plain_row(const StoredPlane& s, const T* x, T* row) {
  const StoredPlane::Axis& axis = s.axes[2];
  const auto length = static_cast<std::ptrdiff_t>(s.row), in = static_cast<std::ptrdiff_t>(axis.in);
  const auto within = [length](std::ptrdiff_t i) { return i < 0 ? 0 : i > length ? length : i; };
  const std::ptrdiff_t begin = within(axis.shift), stop = within(axis.shift + in), end = stop < begin ? begin : stop;
  zero(row, static_cast<std::size_t>(begin));
  copy(x + (begin - axis.shift), static_cast<std::size_t>(end - begin), row + begin);
  zero(row + end, static_cast<std::size_t>(length - end));
}

// A loop of its own, whose step and lack of overlap the compiler knows, is made of vectors.
template <class T>
void take_every_second(const T* __restrict from, std::ptrdiff_t n, T* __restrict to) {
  for (std::ptrdiff_t i = 0; i < n; ++i) to[i] = from[2 * i];
}

template <class T>
void store_row(const StoredPlane& s, const T* x, T* row) {
  const StoredPlane::Axis& axis = s.axes[2];
  const auto in = static_cast<std::ptrdiff_t>(axis.in);
  const std::ptrdiff_t shift = axis.shift, spread = axis.spread;
  if (s.phases == 1 && spread == 1) return store_plain_row(s, x, row);
  zero(row, s.row);
  if (spread != 1) {
    for (std::ptrdiff_t i = shift < 0 ? (-shift + spread - 1) / spread : 0;
         i < in && i * spread + shift < static_cast<std::ptrdiff_t>(s.row); ++i)
      row[i * spread + shift] = x[i];
    return;
  }
  const auto phases = static_cast<std::ptrdiff_t>(s.phases), width = static_cast<std::ptrdiff_t>(s.phase);
  for (std::ptrdiff_t p = 0; p < phases; ++p) {
    const std::ptrdiff_t begin = p < shift ? (shift - p + phases - 1) / phases : 0;
    const std::ptrdiff_t last = in + shift - p, all = last > 0 ? (last + phases - 1) / phases : 0;
    const std::ptrdiff_t end = all < width ? all : width;
    if (begin >= end) continue;
    const T* const from = x + (begin * phases + p - shift);
    T* const to = row + p * width + begin;
    if (phases == 2)
      take_every_second(from, end - begin, to);
    else
      for (std::ptrdiff_t i = 0; i < end - begin; ++i) to[i] = from[i * phases];
  }
}

// The input element at stored coordinate q, -1 where none is.
LOOM_INLINE std::ptrdiff_t source(const StoredPlane::Axis& axis, std::size_t q) {
  const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(q) - axis.shift, in = static_cast<std::ptrdiff_t>(axis.in);
  if (axis.spread == 1) return at < in ? at : -1;  // spares a division for each row
  return at < 0 || at % axis.spread != 0 || at / axis.spread >= in ? -1 : at / axis.spread;
}

template <class T>
void store_plane(const StoredPlane& s, const T* x, T* plane) {
  for (std::size_t z = 0; z < s.axes[0].length; ++z) {
    const std::ptrdiff_t iz = source(s.axes[0], z);
    for (std::size_t y = 0; y < s.axes[1].length; ++y, plane += s.row) {
      const std::ptrdiff_t iy = source(s.axes[1], y);
      if (iz < 0 || iy < 0)
        zero(plane, s.row);
      else
        store_row(s, x + (static_cast<std::size_t>(iz) * s.axes[1].in + static_cast<std::size_t>(iy)) * s.axes[2].in,
                  plane);
    }
  }
}

template <class T>
void patches(const T* from, const std::size_t* offsets, std::size_t rows, std::size_t cols, T* to) {
  for (std::size_t r = 0; r < rows; ++r, ++from, to += cols) {
#pragma GCC unroll 8
    for (std::size_t k = 0; k < cols; ++k) {
      to[k] = from[offsets[k]];
      __asm__ volatile("" ::: "memory");  // one load after the other: gathers of lanes take twice as long
    }
  }
}

template <class T>
constexpr UnfoldKernels<T> kKernels = {.store = store_plane<T>, .patches = patches<T>};

}  // namespace

extern const PerElement<UnfoldKernels> unfold_kernels;
const PerElement<UnfoldKernels> unfold_kernels = {kKernels<float>, kKernels<double>};

}  // namespace loom::inline LOOM_TARGET
