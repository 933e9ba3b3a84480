#include "ops/rope/rope.h"
#include "simd/rows.h"

namespace loom::inline LOOM_TARGET {
namespace {

void rotate(const float* cos_sin, std::size_t dim, bool interleaved, float* x) {
  const std::size_t half = dim / 2;
  const float *cosine = cos_sin, *sine = cos_sin + half;
  if (interleaved) {
    for (std::size_t i = 0; i < half; ++i) {
      const float a = x[2 * i], b = x[2 * i + 1];
      x[2 * i] = snap(a * cosine[i] - b * sine[i]);
      x[2 * i + 1] = snap(b * cosine[i] + a * sine[i]);
    }
    return;
  }
  for_lanes(half, [&](std::size_t i, auto lanes) {
    const F32x16 a = lanes.load(x + i), b = lanes.load(x + half + i), c = lanes.load(cosine + i), s = lanes.load(sine + i);
    lanes.store(x + i, snap(a * c - b * s));
    lanes.store(x + half + i, snap(b * c + a * s));
  });
}

}  // namespace

extern const RopeKernels rope_kernels;
const RopeKernels rope_kernels = {rotate};

}  // namespace loom::inline LOOM_TARGET
