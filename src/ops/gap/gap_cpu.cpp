#include "ops/gap/gap.h"

#include "ops/non_finite.h"
#include "simd/rows.h"

namespace loom::inline LOOM_TARGET {
namespace {

// lanes[16] = the sums of term(i, lanes) over at most kLaneBlock elements.
template <class T, class F>
LOOM_INLINE void block_sum(std::size_t n, T* to, F&& term) {
  Lanes<T> sum = zeros<T>();
  for_lanes(n, [&](std::size_t i, auto lanes) { sum = sum + term(i, lanes); });
  store(to, sum);
}

template <class T>
void squares_of(const T* x, std::size_t n, T* to) {
  block_sum(n, to, [&](std::size_t i, auto lanes) {
    const Lanes<T> v = lanes.load(x + i);
    return v * v;
  });
}

template <class T>
void width_of(const T* squares, std::size_t n, T step, T* width) {
  const T wide = step * square_root(*squares / static_cast<T>(n)), least = static_cast<T>(kLeastSecantWidth);
  *width = wide > least ? wide : least;  // not a number: the least
}

template <class T>
void ends_row(const T* x, const T* h, std::size_t n, T* above, T* below) {
  const Lanes<T> step = splat(*h);
  for_lanes(n, [&](std::size_t i, auto lanes) {
    const Lanes<T> at = lanes.load(x + i);
    lanes.store(above + i, at + step);
    lanes.store(below + i, snap(at - step));
  });
}

template <class T>
void secant_row(const T* above, const T* below, const T* h, const T* e, std::size_t n, T* out) {
  const Lanes<T> width = splat(T{2}) * splat(*h);
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
    const Lanes<T> total =
        chain64<Lanes<T>>(0, rows, [&](std::size_t r) { return abs(lanes.load(w + r * stride + i)); });
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
void clamp_row(T limit, const float* failed, std::size_t n, T* d) {
  if (failed != nullptr && *failed != 0) return;
  const Lanes<T> low = splat(-limit), high = splat(limit);
  for_lanes(n, [&](std::size_t i, auto lanes) {
    const Lanes<T> v = lanes.load(d + i);
    lanes.store(d + i, snap(select(v < low, low, select(v > high, high, v))));  // NaN stays
  });
}

template <class T>
void simplex_row(const T* p, const T* e, std::size_t n, T* out) {
  const Lanes<T> zero = zeros<T>();
  const T given = lanes16<T>(n, [&](std::size_t i, auto lanes) { return lanes.load(p + i); });
  const T wanted = lanes16<T>(n, [&](std::size_t i, auto lanes) {
    const Lanes<T> gap = lanes.load(e + i), t = snap(lanes.load(p + i) + gap);
    const Lanes<T> cut = select(t > zero, t, select(is_nan(t), t, zero));  // a NaN shows
    lanes.store(out + i, cut);
    return lanes.keep(cut);
  });
  const bool some = wanted > 0;
  const Lanes<T> factor = splat(some ? snap(given / wanted) : T{0});
  for_lanes(n, [&](std::size_t i, auto lanes) {
    const Lanes<T> gap = snap(snap(lanes.load(out + i) * factor) - lanes.load(p + i));
    lanes.store(out + i, some ? gap : zero);
  });
}

template <class T>
void norm_row(const NormGapTask<T>& t) {
  const std::size_t size = t.width * t.positions;
  T s = 0;
  if (t.deviation == nullptr) {
    const auto n = static_cast<T>(size);
    const T mean =
        t.centred ? snap(lanes16<T>(size, [&](std::size_t i, auto lanes) { return lanes.load(t.x + i); }) / n) : T{0};
    const Lanes<T> means = splat(mean);
    const T squares = lanes16<T>(size, [&](std::size_t i, auto lanes) {
      const Lanes<T> d = lanes.keep(snap(lanes.load(t.x + i) - means));
      return d * d;
    });
    s = square_root(squares / n + t.eps);
  }
  const auto factor_of = [&](const Lanes<T>& gain, const Lanes<T>& own) {
    const auto strong = abs(gain) > splat(t.threshold);
    return select(strong, snap(own / select(strong, gain, splat(T{1}))), zeros<T>());
  };
  if (t.positions == 1) {
    for_lanes(t.width, [&](std::size_t i, auto lanes) {
      const Lanes<T> own = t.deviation == nullptr ? splat(s) : lanes.load(t.deviation + i);
      lanes.store(t.out + i, snap(lanes.load(t.e + i) * factor_of(lanes.load(t.gamma + i), own)));
    });
    return;
  }
  for (std::size_t c = 0; c < t.width; ++c) {
    const Lanes<T> factor = factor_of(splat(t.gamma[c]), splat(t.deviation == nullptr ? s : t.deviation[c]));
    const std::size_t first = c * t.positions;
    for_lanes(t.positions, [&](std::size_t i, auto lanes) {
      lanes.store(t.out + first + i, snap(lanes.load(t.e + first + i) * factor));
    });
  }
}

template <class T>
void cosine_of(const T* e, const T* b, const T* y, std::size_t n, T* to) {
  LaneSum<T> dot, squares_e, squares_d;
  for_lane_blocks(
      n,
      [&](std::size_t i, auto lanes) {
        const Lanes<T> gap = lanes.load(e + i), away = snap(lanes.load(b + i) - lanes.load(y + i));
        dot.add(gap * away), squares_e.add(gap * gap), squares_d.add(away * away);
      },
      [&] { dot.end_block(), squares_e.end_block(), squares_d.end_block(); });
  const T size = square_root(fold(squares_e.total)) * square_root(fold(squares_d.total));
  const T cosine = snap(fold(dot.total) / size);
  *to = size > 0 ? cosine > 1 ? T{1} : cosine < -1 ? T{-1} : cosine : T{0};
}

template <class T>
void agreement_of(const T* a, const T* e, std::size_t n, T factor, T limit, T* to) {
  const Lanes<T> by = splat(factor), low = splat(-limit), high = splat(limit);
  Lanes<T> dot = zeros<T>(), squares_a = zeros<T>(), squares_t = zeros<T>(), gap = zeros<T>();
  for_lanes(n, [&](std::size_t i, auto lanes) {
    const Lanes<T> x = lanes.load(a + i);
    Lanes<T> t = x + by * lanes.load(e + i);
    if (limit > 0) t = select(t < low, low, select(t > high, high, t));
    t = snap(t);
    const Lanes<T> d = snap(t - x);
    dot = dot + x * t, squares_a = squares_a + x * x, squares_t = squares_t + t * t, gap = gap + d * d;
  });
  store(to, dot), store(to + kLanes, squares_a), store(to + 2 * kLanes, squares_t), store(to + 3 * kLanes, gap);
}

template <class T>
T budget_of(T dot, T squares_a, T squares_t) {
  if (squares_a == 0 && squares_t == 0) return 1;
  if (squares_a == 0 || squares_t == 0) return static_cast<T>(0.5);
  const T cosine = snap(dot / (square_root(squares_a) * square_root(squares_t)));
  return (cosine < -1 ? T{0} : cosine > 1 ? T{2} : cosine + 1) / 2;
}

template <class T>
void figures_of(const T* sums, std::size_t n, T threshold, T* figures, float* failed) {
  figures[kBudget] = snap(budget_of(sums[0], sums[1], sums[2]));
  figures[kGapSize] = square_root(sums[3] / static_cast<T>(n));
  figures[kMoves] = figures[kBudget] < threshold ? T{0} : T{1};  // a NaN moves, and shows
  if (!is_finite(figures[kGapSize])) *failed = 1;
}

template <class T>
void column_mean(const T* p, std::size_t rows, std::size_t cols, const T* factor, T* mean) {
  const T value = snap(chain64<T>(0, rows, [&](std::size_t r) { return p[r * cols]; }) / static_cast<T>(rows));
  *mean = factor == nullptr ? value : snap(value * *factor);
}

template <class T>
constexpr GapKernels<T> kKernels = {
    .squares = squares_of<T>,
    .width = width_of<T>,
    .ends = ends_row<T>,
    .secant = secant_row<T>,
    .plain = plain_row<T>,
    .with_sign = sign_row<T>,
    .sizes = size_columns<T>,
    .close = close_row<T>,
    .clamp = clamp_row<T>,
    .simplex = simplex_row<T>,
    .norm = norm_row<T>,
    .cosine = cosine_of<T>,
    .agreement = agreement_of<T>,
    .figures = figures_of<T>,
    .column_mean = column_mean<T>,
};

}  // namespace

extern const PerElement<GapKernels> gap_kernels;
const PerElement<GapKernels> gap_kernels = per_element<PerElement<GapKernels>>([]<class T> { return kKernels<T>; });

}  // namespace loom::inline LOOM_TARGET
