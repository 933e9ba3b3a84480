#include "ops/rope/rope.h"
#include "simd/rows.h"

namespace loom::inline LOOM_TARGET {
namespace {

// The pairs one by one: f64, and pairs of adjacent elements.
template <class T, bool Back>
void rotate_pairs(const float* cosine, const float* sine, std::size_t half, bool interleaved, T* x) {
  for (std::size_t i = 0; i < half; ++i) {
    T* const first = x + (interleaved ? 2 * i : i);
    T* const second = first + (interleaved ? 1 : half);
    const T a = *first, b = *second, c = cosine[i], s = Back ? -sine[i] : sine[i];
    *first = snap(a * c - b * s);
    *second = snap(b * c + a * s);
  }
}

template <bool Back>
void rotate_halves(const float* cosine, const float* sine, std::size_t half, float* x) {
  for_lanes(half, [&](std::size_t i, auto lanes) {
    const F32x16 a = lanes.load(x + i), b = lanes.load(x + half + i), c = lanes.load(cosine + i);
    const F32x16 s = Back ? negate(lanes.load(sine + i)) : lanes.load(sine + i);
    lanes.store(x + i, snap(a * c - b * s));
    lanes.store(x + half + i, snap(b * c + a * s));
  });
}

template <class T>
void rotate(const float* cos_sin, std::size_t dim, bool interleaved, bool back, T* x) {
  const std::size_t half = dim / 2;
  const float *cosine = cos_sin, *sine = cos_sin + half;
  if constexpr (sizeof(T) == 4) {
    if (!interleaved)
      return back ? rotate_halves<true>(cosine, sine, half, x) : rotate_halves<false>(cosine, sine, half, x);
  }
  back ? rotate_pairs<T, true>(cosine, sine, half, interleaved, x)
       : rotate_pairs<T, false>(cosine, sine, half, interleaved, x);
}

}  // namespace

extern const PerElement<RopeKernels> rope_kernels;
const PerElement<RopeKernels> rope_kernels = {{.rotate = rotate<float>}, {.rotate = rotate<double>}};

}  // namespace loom::inline LOOM_TARGET
