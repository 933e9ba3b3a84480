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
void divide_row(const T* x, T divisor, std::size_t n, T* y) {
  const Lanes<T> by = splat(divisor);
  for_lanes(n, [&](std::size_t i, auto lanes) { lanes.store(y + i, snap(lanes.load(x + i) / by)); });
}

template <class T>
void copy_row(const T* x, std::size_t n, T* y) {
  __builtin_memcpy(y, x, n * sizeof(T));
}

template <class T>
void convert_row(const OtherElement<T>* x, std::size_t n, T* y) {
  for (std::size_t i = 0; i < n; ++i) y[i] = static_cast<T>(x[i]);
}

template <class T>
void fill_row(T value, std::size_t n, T* y) {
  using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  if (__builtin_bit_cast(Bits, value) == 0) {
    __builtin_memset(y, 0, n * sizeof(T));
    return;
  }
  const Lanes<T> v = splat(value);
  for_lanes(n, [&](std::size_t i, auto lanes) { lanes.store(y + i, v); });
}

// to[i] = f(i, lanes) of sixteen elements each, the last ones padded: f is compiled once, which matters for twenty-one
// activations.
template <class T, class F>
LOOM_INLINE void each_vector(std::size_t n, T* to, F&& f) {
  const std::size_t whole = n / kLanes * kLanes;
  for (std::size_t i = 0; i < n; i += kLanes) {
    alignas(64) T last[kLanes];
    T* const out = i == whole ? last : to + i;
    store(out, f(i, i == whole ? n - whole : kLanes));
    for (std::size_t k = 0; i == whole && k < n - whole; ++k) to[i + k] = last[k];
  }
}

template <class T>
LOOM_INLINE Lanes<T> load_some(const T* p, std::size_t n) {
  return n == kLanes ? load(p) : TailLanes{n}.load(p);
}

template <class T>
void activate_row(const ActivationFn& fn, const T* x, std::size_t n, T* y) {
  with_activation<T>(fn, [&](auto value, auto) {
    each_vector(n, y, [&](std::size_t i, std::size_t count) { return snap(value(load_some(x + i, count))); });
  });
}

template <class T>
void activate_backward_row(const ActivationFn& fn, const T* x, const T* dy, std::size_t n, T* dx) {
  with_activation<T>(fn, [&](auto, auto slope) {
    each_vector(n, dx, [&](std::size_t i, std::size_t count) {
      return snap(load_some(dy + i, count) * snap(slope(load_some(x + i, count))));
    });
  });
}

constexpr std::size_t kPiece = 256;  // elements whose activations wait in the first-level cache

template <class T>
void gated_row(const ActivationFn& fn, const T* gate, const T* up, std::size_t n, T* y) {
  alignas(64) T active[kPiece];
  for (std::size_t i = 0; i < n; i += kPiece) {
    const std::size_t count = n - i < kPiece ? n - i : kPiece;
    activate_row(fn, gate + i, count, active);
    multiply_row(active, up + i, count, y + i);
  }
}

template <class T>
void gated_backward_row(const ActivationFn& fn, const T* gate, const T* up, const T* dy, std::size_t n, T* dgate,
                        T* dup) {
  alignas(64) T buffer[kPiece];
  for (std::size_t i = 0; i < n; i += kPiece) {
    const std::size_t count = n - i < kPiece ? n - i : kPiece;
    activate_row(fn, gate + i, count, buffer);
    multiply_row(dy + i, buffer, count, dup + i);
    multiply_row(dy + i, up + i, count, buffer);
    activate_backward_row(fn, gate + i, buffer, count, dgate + i);
  }
}

template <class T>
constexpr ElementwiseKernels<T> kKernels = {
    .add = add_row<T>,
    .multiply = multiply_row<T>,
    .scale = scale_row<T>,
    .divide = divide_row<T>,
    .fill = fill_row<T>,
    .copy = copy_row<T>,
    .convert = convert_row<T>,
    .activate = activate_row<T>,
    .activate_backward = activate_backward_row<T>,
    .gated = gated_row<T>,
    .gated_backward = gated_backward_row<T>,
};

}  // namespace

extern const PerElement<ElementwiseKernels> elementwise_kernels;
const PerElement<ElementwiseKernels> elementwise_kernels =
    per_element<PerElement<ElementwiseKernels>>([]<class T> { return kKernels<T>; });

}  // namespace loom::inline LOOM_TARGET
