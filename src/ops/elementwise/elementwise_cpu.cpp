#include "ops/elementwise/activations.h"
#include "simd/rows.h"

namespace loom::inline LOOM_TARGET {
namespace {

template <class T>
void add_row(const T* a, const T* b, std::size_t n, T* y) {
  for_lanes(n, [&](std::size_t i, auto lanes) { lanes.store(y + i, snap(lanes.load(a + i) + lanes.load(b + i))); });
}

template <class T>
void multiply_row(const T* a, const T* b, std::size_t n, T* y) {
  for_lanes(n, [&](std::size_t i, auto lanes) { lanes.store(y + i, snap(lanes.load(a + i) * lanes.load(b + i))); });
}

template <class T>
void scale_row(const T* x, double factor, std::size_t n, T* y) {
  const Lanes<T> f = splat(static_cast<T>(factor));
  for_lanes(n, [&](std::size_t i, auto lanes) { lanes.store(y + i, snap(lanes.load(x + i) * f)); });
}

template <class T>
void activate_row(const ActivationFn& fn, const T* x, std::size_t n, T* y) {
  with_activation<T>(fn, [&](auto value, auto) { for_lanes(n, [&](std::size_t i, auto lanes) { lanes.store(y + i, snap(value(lanes.load(x + i)))); }); });
}

template <class T>
void activate_backward_row(const ActivationFn& fn, const T* x, const T* dy, std::size_t n, T* dx) {
  with_activation<T>(fn, [&](auto, auto slope) {
    for_lanes(n, [&](std::size_t i, auto lanes) { lanes.store(dx + i, snap(lanes.load(dy + i) * snap(slope(lanes.load(x + i))))); });
  });
}

template <class T>
void gated_row(const ActivationFn& fn, const T* gate, const T* up, std::size_t n, T* y) {
  with_activation<T>(fn, [&](auto value, auto) {
    for_lanes(n, [&](std::size_t i, auto lanes) { lanes.store(y + i, snap(snap(value(lanes.load(gate + i))) * lanes.load(up + i))); });
  });
}

template <class T>
void gated_backward_row(const ActivationFn& fn, const T* gate, const T* up, const T* dy, std::size_t n, T* dgate, T* dup) {
  with_activation<T>(fn, [&](auto value, auto slope) {
    for_lanes(n, [&](std::size_t i, auto lanes) {
      const Lanes<T> a = lanes.load(gate + i), d = lanes.load(dy + i);
      lanes.store(dup + i, snap(d * snap(value(a))));
      lanes.store(dgate + i, snap(snap(d * lanes.load(up + i)) * snap(slope(a))));
    });
  });
}

template <class T>
constexpr ElementwiseKernels<T> kKernels = {add_row<T>,  multiply_row<T>,           scale_row<T>, activate_row<T>,
                                            activate_backward_row<T>, gated_row<T>, gated_backward_row<T>};

}  // namespace

extern const PerElement<ElementwiseKernels> elementwise_kernels;
const PerElement<ElementwiseKernels> elementwise_kernels = {kKernels<float>, kKernels<double>};

}  // namespace loom::inline LOOM_TARGET
