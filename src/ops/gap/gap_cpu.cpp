#include "ops/gap/gap.h"

#include "ops/elementwise/activations.h"
#include "simd/rows.h"

namespace loom::inline LOOM_TARGET {
namespace {

template <class T, class F>
LOOM_INLINE void each_vector(std::size_t n, T* to, F&& f) {
  for (std::size_t i = 0; i < n; i += kLanes) {
    const std::size_t count = n - i < kLanes ? n - i : kLanes;
    alignas(64) T last[kLanes];
    store(count == kLanes ? to + i : last, f(i, count));
    for (std::size_t k = 0; count != kLanes && k < count; ++k) to[i + k] = last[k];
  }
}

template <class T>
LOOM_INLINE Lanes<T> load_some(const T* p, std::size_t n) {
  return n == kLanes ? load(p) : TailLanes{n}.load(p);
}

template <class T>
void secant_row(const ActivationFn& fn, const T* x, T h, const T* e, std::size_t n, T* out) {
  const Lanes<T> step = splat(h), width = splat(T{2} * h);
  with_activation<T>(fn, [&](auto value, auto) {
    each_vector(n, out, [&](std::size_t i, std::size_t count) {
      const Lanes<T> at = load_some(x + i, count);
      const Lanes<T> rise = snap(snap(value(at + step)) - snap(value(snap(at - step))));
      return snap(load_some(e + i, count) * snap(rise / width));
    });
  });
}

struct Range {
  double low, high;
};
Range range_of(const ActivationFn& fn) {
  constexpr double kFar = __builtin_huge_val();
  switch (fn.kind) {
    case Activation::Relu:
    case Activation::Relu2:
    case Activation::Softplus: return {0, kFar};
    case Activation::Sigmoid:
    case Activation::HardSigmoid: return {0, 1};
    case Activation::Tanh:
    case Activation::HardTanh:
    case Activation::Softsign: return {-1, 1};
    case Activation::Relu6: return {0, 6};
    case Activation::Elu: return {-fn.elu_alpha, kFar};
    default: return {-kFar, kFar};
  }
}

// The gap, not the target, is cut, so that a gap of 0 stays 0.
template <class T>
void plain_row(const ActivationFn& fn, const T* x, const T* e, std::size_t n, T* out) {
  const Range range = range_of(fn);
  const Lanes<T> low = splat(static_cast<T>(range.low)), high = splat(static_cast<T>(range.high)), zero = zeros<T>();
  with_activation<T>(fn, [&](auto value, auto slope) {
    each_vector(n, out, [&](std::size_t i, std::size_t count) {
      const Lanes<T> at = load_some(x + i, count), y = snap(value(at)), gap = load_some(e + i, count);
      const Lanes<T> cut = snap(min(max(gap, snap(low - y)), snap(high - y)));
      return snap(select(snap(slope(at)) < zero, zero - cut, cut));
    });
  });
}

template <class T>
void sign_row(const T* x, const T* e, std::size_t n, T* out) {
  for_lanes(n, [&](std::size_t i, auto lanes) {
    const Lanes<T> gap = lanes.load(e + i);
    lanes.store(out + i, snap(select(lanes.load(x + i) < zeros<T>(), zeros<T>() - gap, gap)));
  });
}

template <class T>
void size_columns(const T* w, std::size_t stride, std::size_t rows, std::size_t n, T* sums) {
  for_lanes(n, [&](std::size_t i, auto lanes) {
    Lanes<T> total = zeros<T>();
    for (std::size_t r = 0; r < rows;) {
      Lanes<T> block = zeros<T>();
      for (const std::size_t end = rows - r < 64 ? rows : r + 64; r < end; ++r) block = block + abs(lanes.load(w + r * stride + i));
      total = total + block;
    }
    lanes.store(sums + i, snap(lanes.load(sums + i) + total));
  });
}

template <class T>
void close_row(const T* sums, T threshold, bool divide, const T* base, std::size_t n, T* d) {
  const Lanes<T> least = splat(threshold), one = splat(T{1});
  for_lanes(n, [&](std::size_t i, auto lanes) {
    const Lanes<T> sum = lanes.load(sums + i);
    const auto strong = sum > least;
    Lanes<T> gap = lanes.load(d + i);
    if (divide) gap = snap(gap / select(strong, sum, one));
    if (base != nullptr) gap = gap - lanes.load(base + i);
    lanes.store(d + i, snap(select(strong, gap, zeros<T>())));
  });
}

template <class T>
void clamp_row(T limit, std::size_t n, T* d) {
  const Lanes<T> low = splat(-limit), high = splat(limit);
  for_lanes(n, [&](std::size_t i, auto lanes) {
    const Lanes<T> v = lanes.load(d + i);
    lanes.store(d + i, snap(select(v < low, low, select(v > high, high, v))));  // NaN stays
  });
}

// Sixteen sums in f64: element i belongs to sum i mod 16.
struct Sums {
  double lanes[16] = {};
  template <class F>
  LOOM_INLINE void add(std::size_t n, F&& term) {
    std::size_t i = 0;
    for (; i + 16 <= n; i += 16)
      for (std::size_t j = 0; j < 16; ++j) lanes[j] += term(i + j);
    for (std::size_t j = 0; i + j < n; ++j) lanes[j] += term(i + j);
  }
  LOOM_INLINE double total() const { return fold(load(lanes)); }
};

template <class T>
double squares_of(const T* x, std::size_t n, double mean) {
  Sums sums;
  sums.add(n, [&](std::size_t i) {
    const double d = snap(static_cast<double>(x[i]) - mean);
    return d * d;
  });
  return sums.total();
}

template <class T>
double sum_of(const T* x, std::size_t n) {
  Sums sums;
  sums.add(n, [&](std::size_t i) { return static_cast<double>(x[i]); });
  return sums.total();
}

template <class T>
double cosine_of(const T* e, const T* b, const T* y, std::size_t n) {
  Sums dot, size_e, size_d;
  const auto gap = [&](std::size_t i) { return static_cast<double>(e[i]); };
  const auto away = [&](std::size_t i) { return snap(static_cast<double>(b[i]) - static_cast<double>(y[i])); };
  dot.add(n, [&](std::size_t i) { return gap(i) * away(i); });
  size_e.add(n, [&](std::size_t i) { return gap(i) * gap(i); });
  size_d.add(n, [&](std::size_t i) { return away(i) * away(i); });
  const double size = __builtin_sqrt(size_e.total()) * __builtin_sqrt(size_d.total());
  return size > 0 ? dot.total() / size : 0;
}

template <class T>
Agreement agreement_of(const T* a, const T* e, std::size_t n, double factor, double limit) {
  Sums dot, size_a, size_t_, gap;
  const auto target = [&](std::size_t i) {
    const double x = static_cast<double>(a[i]), t = x + factor * static_cast<double>(e[i]);
    return limit > 0 && t < -limit ? -limit : limit > 0 && t > limit ? limit : t;
  };
  // Pieces: four sums over one walk would not stay in registers.
  constexpr std::size_t kPiece = 512;
  alignas(64) double value[kPiece], wanted[kPiece];
  for (std::size_t first = 0; first < n; first += kPiece) {
    const std::size_t count = n - first < kPiece ? n - first : kPiece;
    for (std::size_t i = 0; i < count; ++i) value[i] = static_cast<double>(a[first + i]), wanted[i] = snap(target(first + i));
    dot.add(count, [&](std::size_t i) { return value[i] * wanted[i]; });
    size_a.add(count, [&](std::size_t i) { return value[i] * value[i]; });
    size_t_.add(count, [&](std::size_t i) { return wanted[i] * wanted[i]; });
    gap.add(count, [&](std::size_t i) {
      const double d = snap(wanted[i] - value[i]);
      return d * d;
    });
  }
  return {dot.total(), size_a.total(), size_t_.total(), gap.total()};
}

template <class T>
constexpr GapKernels<T> kKernels = {secant_row<T>, plain_row<T>, sign_row<T>,     size_columns<T>, close_row<T>,
                                    clamp_row<T>,  squares_of<T>, sum_of<T>,     cosine_of<T>, agreement_of<T>};

}  // namespace

extern const PerElement<GapKernels> gap_kernels;
const PerElement<GapKernels> gap_kernels = {kKernels<float>, kKernels<double>};

}  // namespace loom::inline LOOM_TARGET
