#include "ops/slices/slices.h"

#include "simd/rows.h"

namespace loom::inline LOOM_TARGET {
namespace {

LOOM_INLINE SlicePlace turned(SlicePlace p) { return {p.offset, p.step, p.stride}; }

// f(element of `from`, element of `to`) for all of them.
template <class T, class F>
LOOM_INLINE void each_element(Slices s, const T* from, SlicePlace at, T* to, SlicePlace target, F&& f) {
  if (s.width < 4) s = {s.width, s.count}, at = turned(at), target = turned(target);
  for (std::size_t r = 0; r < s.count; ++r, from += at.stride, to += target.stride)
    for (std::size_t i = 0; i < s.width; ++i) f(from[i * at.step], to[i * target.step]);
}

template <class T>
void move(Slices s, const T* from, SlicePlace at, T* to, SlicePlace target) {
  from += at.offset, to += target.offset;
  if (at.step == 1 && target.step == 1 && s.width >= kLanes) {
    for (std::size_t r = 0; r < s.count; ++r)
      __builtin_memcpy(to + r * target.stride, from + r * at.stride, s.width * sizeof(T));
    return;
  }
  each_element(s, from, at, to, target, [](const T& x, T& y) { y = x; });
}

template <class T>
void add(Slices s, const T* from, SlicePlace at, T* to, SlicePlace target) {
  from += at.offset, to += target.offset;
  if (at.step != 1 || target.step != 1 || s.width < kLanes)
    return each_element(s, from, at, to, target, [](const T& x, T& y) { y = snap(y + x); });
  for (std::size_t r = 0; r < s.count; ++r, from += at.stride, to += target.stride)
    for_lanes(s.width,
              [&](std::size_t i, auto lanes) { lanes.store(to + i, snap(lanes.load(to + i) + lanes.load(from + i))); });
}

template <class T>
constexpr SlicesKernels<T> kKernels = {.move = move<T>, .add = add<T>};

}  // namespace

extern const PerElement<SlicesKernels> slices_kernels;
const PerElement<SlicesKernels> slices_kernels = {kKernels<float>, kKernels<double>};

}  // namespace loom::inline LOOM_TARGET
