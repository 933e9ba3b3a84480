#include "ops/scan/scan.h"
#include "simd/math.h"
#include "simd/rows.h"

namespace loom::inline LOOM_TARGET {
namespace {

template <class T>
void rates_row(std::size_t n, T* a) {
  for_lanes(n, [&](std::size_t i, auto lanes) { lanes.store(a + i, snap(zeros<T>() - exp(lanes.load(a + i)))); });
}

// Up to sixteen channels of one sample, and their offsets in each operand.
template <class T, class L>
struct Channels {
  const Scan& scan;
  std::size_t b, channel;
  L lanes;
  LOOM_INLINE std::size_t row(std::size_t t) const { return b * scan.shape.steps + t; }
  LOOM_INLINE std::size_t state(std::size_t n) const { return n * scan.shape.channels + channel; }
  // The first loads the row of step t; the second loads an operand that all samples share, such as `skip`.
  LOOM_INLINE Lanes<T> get(const ConstTensor& from, std::size_t t) const {
    return lanes.load(from.row<T>(row(t)) + channel);
  }
  LOOM_INLINE Lanes<T> get(const void* from) const { return lanes.load(static_cast<const T*>(from) + channel); }
  LOOM_INLINE void put(const Tensor& to, std::size_t t, const Lanes<T>& v) const {
    lanes.store(to.row<T>(row(t)) + channel, v);
  }
  // The one number of step t that serves state n of all channels.
  LOOM_INLINE Lanes<T> shared(const ConstTensor& from, std::size_t t, std::size_t n) const {
    return splat(from.row<T>(row(t))[n]);
  }
  LOOM_INLINE T* of_sample(const Tensor& states, std::size_t n) const { return states.row<T>(b) + state(n); }
  LOOM_INLINE Lanes<T> rate(std::size_t n) const { return lanes.load(static_cast<const T*>(scan.a) + state(n)); }
};

template <class T, class F>
LOOM_INLINE void with_channels(const Scan& scan, std::size_t b, std::size_t first, std::size_t count, F&& f) {
  for_lanes(count, [&](std::size_t i, auto lanes) { f(Channels<T, decltype(lanes)>{scan, b, first + i, lanes}); });
}

// A state decays by w in one step and takes in u * b.
template <class V>
struct Decay {
  V z, w;  // dt a, and its exp
  LOOM_INLINE Decay(const V& dt, const V& a) : z(snap(dt * a)), w(snap(exp(z))) {}
  LOOM_INLINE V next(const V& h, const V& u, const V& b) const { return snap(w * h + u * b); }
};

template <class T>
void forward(const Scan& scan, std::size_t b, std::size_t first, std::size_t count, const Tensor& h,
             const Tensor& before, const Tensor& y) {
  using V = Lanes<T>;
  with_channels<T>(scan, b, first, count, [&](const auto& at) {
    const V skip = at.get(scan.skip);
    for (std::size_t t = 0; t < scan.shape.length(b); ++t) {
      const V x = at.get(scan.x, t), dt = at.get(scan.dt, t), u = snap(dt * x);
      V sum = zeros<T>();
      for (std::size_t n = 0; n < scan.shape.states; ++n) {
        T* const state = at.of_sample(h, n);
        const V was = at.lanes.load(state);
        if (before.data != nullptr) at.lanes.store(before.row<T>(at.row(t)) + at.state(n), was);
        const V now = Decay<V>(dt, at.rate(n)).next(was, u, at.shared(scan.b, t, n));
        at.lanes.store(state, now);
        sum = sum + at.shared(scan.c, t, n) * now;
      }
      at.put(y, t, snap(snap(sum) + skip * x));
    }
    for (std::size_t t = scan.shape.length(b); t < scan.shape.steps; ++t) at.put(y, t, zeros<T>());
  });
}

template <class T>
void backward(const Scan& scan, std::size_t b, std::size_t first, std::size_t count, const ConstTensor& before,
              const ConstTensor& dy_, const Tensor& carry, const Tensor& da, T* parts_b, T* parts_c,
              const ScanGradients& to) {
  using V = Lanes<T>;
  const std::size_t states = scan.shape.states;
  with_channels<T>(scan, b, first, count, [&](const auto& at) {
    const V skip = at.get(scan.skip);
    V dskip = zeros<T>();
    for (std::size_t t = scan.shape.steps; t-- > 0;) {
      T *const sum_b = parts_b + at.row(t) * states, *const sum_c = parts_c + at.row(t) * states;
      if (t >= scan.shape.length(b)) {
        for (std::size_t n = 0; n < states; ++n) sum_b[n] = sum_c[n] = 0;
        at.put(to.dx, t, zeros<T>()), at.put(to.ddt, t, zeros<T>());
        continue;
      }
      const V x = at.get(scan.x, t), dt = at.get(scan.dt, t), dy = at.get(dy_, t), u = snap(dt * x);
      V du = zeros<T>(), ddt = zeros<T>();
      for (std::size_t n = 0; n < states; ++n) {
        const V a = at.rate(n), own_b = at.shared(scan.b, t, n),
                was = at.lanes.load(before.row<T>(at.row(t)) + at.state(n));
        const Decay<V> decay(dt, a);
        T *const later = at.of_sample(carry, n), *const rates = at.of_sample(da, n);
        const V g = snap(at.lanes.load(later) + dy * at.shared(scan.c, t, n));  // of h after this step
        const V dz = snap(snap(g * was) * decay.w);
        sum_c[n] = snap(fold(at.lanes.keep(dy * decay.next(was, u, own_b))));
        sum_b[n] = snap(fold(at.lanes.keep(g * u)));
        du = du + g * own_b, ddt = ddt + dz * a;
        at.lanes.store(rates, snap(at.lanes.load(rates) + dz * decay.z));  // the slope of a = -exp(a_log) is a itself
        at.lanes.store(later, snap(g * decay.w));
      }
      du = snap(du), dskip = dskip + dy * x;
      at.put(to.ddt, t, snap(snap(ddt) + du * x));
      at.put(to.dx, t, snap(du * dt + dy * skip));
    }
    at.lanes.store(to.dskip.row<T>(b) + at.channel, snap(dskip));
  });
}

template <class T>
void gap(const Scan& scan, std::size_t b, std::size_t first, std::size_t count, const ConstTensor& e_,
         const Tensor& carry, const Tensor& paths, const Tensor& d, const Tensor& reads, const Tensor& dskip) {
  using V = Lanes<T>;
  with_channels<T>(scan, b, first, count, [&](const auto& at) {
    const V skip = at.get(scan.skip);
    V products = zeros<T>();
    for (std::size_t t = scan.shape.steps; t-- > 0;) {
      if (t >= scan.shape.length(b)) {
        at.put(d, t, zeros<T>()), at.put(reads, t, zeros<T>());
        continue;
      }
      const V dt = at.get(scan.dt, t), e = at.get(e_, t);
      V asked = zeros<T>(), sizes = zeros<T>();
      for (std::size_t n = 0; n < scan.shape.states; ++n) {
        const V w = Decay<V>(dt, at.rate(n)).w, own_b = at.shared(scan.b, t, n), own_c = at.shared(scan.c, t, n);
        T *const later = at.of_sample(carry, n), *const reached = at.of_sample(paths, n);
        const V g = snap(at.lanes.load(later) + e * own_c), r = snap(at.lanes.load(reached) + abs(own_c));
        asked = asked + g * own_b, sizes = sizes + r * abs(own_b);
        at.lanes.store(later, snap(g * w)), at.lanes.store(reached, snap(r * w));
      }
      at.put(d, t, snap(snap(asked) * dt + e * skip));
      at.put(reads, t, snap(snap(sizes) * dt + abs(skip)));
      products = products + e * at.get(scan.x, t);
    }
    at.lanes.store(dskip.row<T>(b) + at.channel, snap(products));
  });
}

template <class T>
void add_parts(const T* parts, std::size_t blocks, std::size_t stride, std::size_t n, T* y) {
  for_lanes(n, [&](std::size_t i, auto lanes) {
    Lanes<T> sum = zeros<T>();
    for (std::size_t k = 0; k < blocks; ++k) sum = sum + lanes.load(parts + k * stride + i);
    lanes.store(y + i, snap(sum));
  });
}

template <class T>
constexpr ScanKernels<T> kKernels = {
    .rates = rates_row<T>,
    .forward = forward<T>,
    .backward = backward<T>,
    .gap = gap<T>,
    .add_parts = add_parts<T>,
};

}  // namespace

extern const PerElement<ScanKernels> scan_kernels;
const PerElement<ScanKernels> scan_kernels = {kKernels<float>, kKernels<double>};

}  // namespace loom::inline LOOM_TARGET
