#include "ops/gap/gap.h"

#include "simd/rows.h"

namespace loom::inline LOOM_TARGET {
namespace {

template <class T>
void ends_row(const T* x, T h, std::size_t n, T* above, T* below) {
  const Lanes<T> step = splat(h);
  for_lanes(n, [&](std::size_t i, auto lanes) {
    const Lanes<T> at = lanes.load(x + i);
    lanes.store(above + i, at + step);
    lanes.store(below + i, snap(at - step));
  });
}

template <class T>
void secant_row(const T* above, const T* below, T h, const T* e, std::size_t n, T* out) {
  const Lanes<T> width = splat(T{2} * h);
  for_lanes(n, [&](std::size_t i, auto lanes) {
    const Lanes<T> rise = snap(lanes.load(above + i) - lanes.load(below + i));
    lanes.store(out + i, snap(lanes.load(e + i) * snap(rise / width)));
  });
}

// The gap, not the target, is cut, so that a gap of 0 stays 0.
template <class T>
void plain_row(T least, T most, const T* y, const T* slope, const T* e, std::size_t n, T* out) {
  const Lanes<T> low = splat(least), high = splat(most), zero = zeros<T>();
  for_lanes(n, [&](std::size_t i, auto lanes) {
    const Lanes<T> at = lanes.load(y + i), cut = snap(min(max(lanes.load(e + i), snap(low - at)), snap(high - at)));
    lanes.store(out + i, snap(select(lanes.load(slope + i) < zero, zero - cut, cut)));
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
    const Lanes<T> total = chain64<Lanes<T>>(0, rows, [&](std::size_t r) { return abs(lanes.load(w + r * stride + i)); });
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

template <class T>
double squares_of(const T* x, std::size_t n, double mean) {
  return lanes16<double>(n, [&](std::size_t i) {
    const double d = snap(static_cast<double>(x[i]) - mean);
    return d * d;
  });
}

template <class T>
double sum_of(const T* x, std::size_t n) {
  return lanes16<double>(n, [&](std::size_t i) { return static_cast<double>(x[i]); });
}

template <class T>
double cosine_of(const T* e, const T* b, const T* y, std::size_t n) {
  const auto gap = [&](std::size_t i) { return static_cast<double>(e[i]); };
  const auto away = [&](std::size_t i) { return snap(static_cast<double>(b[i]) - static_cast<double>(y[i])); };
  const double dot = lanes16<double>(n, [&](std::size_t i) { return gap(i) * away(i); });
  const double squares_e = lanes16<double>(n, [&](std::size_t i) { return gap(i) * gap(i); });
  const double squares_d = lanes16<double>(n, [&](std::size_t i) { return away(i) * away(i); });
  const double size = __builtin_sqrt(squares_e) * __builtin_sqrt(squares_d);
  return size > 0 ? dot / size : 0;
}

template <class T>
Agreement agreement_of(const T* a, const T* e, std::size_t n, double factor, double limit) {
  Lanes16<double> dot, squares_a, squares_t, gap;
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
    squares_a.add(count, [&](std::size_t i) { return value[i] * value[i]; });
    squares_t.add(count, [&](std::size_t i) { return wanted[i] * wanted[i]; });
    gap.add(count, [&](std::size_t i) {
      const double d = snap(wanted[i] - value[i]);
      return d * d;
    });
  }
  return {dot.total(), squares_a.total(), squares_t.total(), gap.total()};
}

template <class T>
constexpr GapKernels<T> kKernels = {
    .ends = ends_row<T>,
    .secant = secant_row<T>,
    .plain = plain_row<T>,
    .with_sign = sign_row<T>,
    .sizes = size_columns<T>,
    .close = close_row<T>,
    .clamp = clamp_row<T>,
    .squares = squares_of<T>,
    .sum = sum_of<T>,
    .cosine = cosine_of<T>,
    .agreement = agreement_of<T>,
};

}  // namespace

extern const PerElement<GapKernels> gap_kernels;
const PerElement<GapKernels> gap_kernels = {kKernels<float>, kKernels<double>};

}  // namespace loom::inline LOOM_TARGET
