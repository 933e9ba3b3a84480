#include "ops/norm/norm.h"
#include "simd/rows.h"
#include "simd/simd.h"

namespace loom::inline LOOM_TARGET {
namespace {

void rms_norm_row(const float* x, const float* gamma, float eps, std::size_t cols, float* y) {
  F32x16 squares = zero();
  for_lanes(cols, [&](std::size_t i, auto tail) {
    const F32x16 v = tail.load(x + i);
    squares = squares + v * v;
  });
  const float mean = fold(squares) / static_cast<float>(cols);
  const F32x16 rms = splat(__builtin_sqrtf(mean + eps));
  for_lanes(cols, [&](std::size_t i, auto tail) { tail.store(y + i, snap(snap(tail.load(x + i) / rms) * tail.load(gamma + i))); });
}

void layer_norm_row(const float* x, const float* gamma, const float* beta, float eps, std::size_t cols, float* y) {
  const auto n = static_cast<float>(cols);
  F32x16 sum = zero();
  for_lanes(cols, [&](std::size_t i, auto tail) { sum = sum + tail.load(x + i); });
  const F32x16 mean = splat(fold(sum) / n);
  F32x16 squares = zero();
  for_lanes(cols, [&](std::size_t i, auto tail) {
    const F32x16 d = tail.keep(snap(tail.load(x + i) - mean));
    squares = squares + d * d;
  });
  const F32x16 deviation = splat(__builtin_sqrtf(fold(squares) / n + eps));
  for_lanes(cols, [&](std::size_t i, auto tail) {
    F32x16 v = snap(snap(snap(tail.load(x + i) - mean) / deviation) * tail.load(gamma + i));
    if (beta) v = snap(v + tail.load(beta + i));
    tail.store(y + i, v);
  });
}

}  // namespace

extern const NormKernels norm_kernels;
const NormKernels norm_kernels = {rms_norm_row, layer_norm_row};

}  // namespace loom::inline LOOM_TARGET
