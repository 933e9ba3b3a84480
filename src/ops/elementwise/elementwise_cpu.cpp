#include "ops/elementwise/elementwise.h"

#include "simd/math.h"
#include "simd/rows.h"

namespace loom::inline LOOM_TARGET {
namespace {

LOOM_INLINE F32x16 relu(const F32x16& x) { return max(x, zero()); }

LOOM_INLINE F32x16 gelu_tanh(const F32x16& x) {
  // x^3 of a small x would be subnormal: squares and cubes are snapped on the way.
  const F32x16 cube = snap(snap(x * x) * x);
  const F32x16 inner = splat(0.7978845608f) * snap(x + splat(0.044715f) * cube);
  return splat(0.5f) * x * (splat(1.0f) + tanh(snap(inner)));
}

LOOM_INLINE F32x16 gelu_erf(const F32x16& x) { return splat(0.5f) * x * (splat(1.0f) + erf(snap(x * splat(0.70710678118f)))); }

// f with the activation's function, chosen once per call.
template <class F>
LOOM_INLINE void with_activation(Activation activation, F&& f) {
  switch (activation) {
    case Activation::Linear: return f([](const F32x16& x) { return x; });
    case Activation::Relu: return f([](const F32x16& x) { return relu(x); });
    case Activation::Silu: return f([](const F32x16& x) { return x * snap(sigmoid(x)); });
    case Activation::Gelu: return f([](const F32x16& x) { return gelu_tanh(x); });
    case Activation::Tanh: return f([](const F32x16& x) { return tanh(x); });
    case Activation::Sigmoid: return f([](const F32x16& x) { return sigmoid(x); });
    case Activation::Relu2: return f([](const F32x16& x) { return relu(x) * relu(x); });
    case Activation::GeluExact: return f([](const F32x16& x) { return gelu_erf(x); });
    case Activation::QuickGelu: return f([](const F32x16& x) { return x * snap(sigmoid(snap(splat(1.702f) * x))); });
  }
}

void add_row(const float* a, const float* b, std::size_t n, float* y) {
  for_lanes(n, [&](std::size_t i, auto lanes) { lanes.store(y + i, snap(lanes.load(a + i) + lanes.load(b + i))); });
}

void activate_row(Activation activation, const float* x, std::size_t n, float* y) {
  with_activation(activation, [&](auto f) { for_lanes(n, [&](std::size_t i, auto lanes) { lanes.store(y + i, snap(f(lanes.load(x + i)))); }); });
}

void gated_row(Activation activation, const float* gate, const float* up, std::size_t n, float* y) {
  with_activation(activation, [&](auto f) {
    for_lanes(n, [&](std::size_t i, auto lanes) { lanes.store(y + i, snap(snap(f(lanes.load(gate + i))) * lanes.load(up + i))); });
  });
}

void scale_row(const float* x, float factor, std::size_t n, float* y) {
  for_lanes(n, [&](std::size_t i, auto lanes) { lanes.store(y + i, snap(lanes.load(x + i) * splat(factor))); });
}

}  // namespace

extern const ElementwiseKernels elementwise_kernels;
const ElementwiseKernels elementwise_kernels = {add_row, activate_row, gated_row, scale_row};

}  // namespace loom::inline LOOM_TARGET
