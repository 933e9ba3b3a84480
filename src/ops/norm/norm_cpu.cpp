#include "ops/norm/norm.h"
#include "simd/rows.h"

namespace loom::inline LOOM_TARGET {
namespace {

// Inside a formula: what is small enough to make a product subnormal becomes 0. NaN stays as it is until the result is
// snapped.
LOOM_INLINE F32x16 flush(const F32x16& v) { return as_float(bits(v) & ~(abs(v) < splat(kSnap))); }
LOOM_INLINE F64x16 flush(const F64x16& v) { return select(abs(v) < splat(kSnap64), zeros<double>(), v); }

// Shift and divisor of a row: y = (x - mean) / deviation; rms_norm subtracts no mean.
template <class T>
struct RowScale {
  T mean, deviation;
};

// lanes16 of a row, two blocks side by side: each is a chain whose sums wait for each other.
template <class T, class F>
LOOM_INLINE T lanes16_of_pairs(std::size_t n, F&& term) {
  LaneSum<T> sum, other;
  std::size_t first = 0;
  for (; n - first >= 2 * kLaneBlock; first += 2 * kLaneBlock) {
    for (std::size_t i = first; i < first + kLaneBlock; i += kLanes)
      sum.add(term(i, FullLanes{})), other.add(term(i + kLaneBlock, FullLanes{}));
    sum.end_block();
    sum.block = other.block, other.block = zeros<T>();
    sum.end_block();
  }
  for_lane_blocks(
      n - first, [&](std::size_t i, auto lanes) { sum.add(term(first + i, lanes)); }, [&] { sum.end_block(); });
  return fold(sum.total);
}

template <class T>
LOOM_INLINE RowScale<T> rms_scale(const T* x, double eps, std::size_t cols) {
  const T squares = lanes16<T>(cols, [&](std::size_t i, auto tail) {
    const Lanes<T> v = tail.load(x + i);
    return v * v;
  });
  return {0, square_root(squares / static_cast<T>(cols) + static_cast<T>(eps))};
}

template <class T>
LOOM_INLINE RowScale<T> layer_scale(const T* x, double eps, std::size_t cols) {
  const auto n = static_cast<T>(cols);
  const T mean = lanes16_of_pairs<T>(cols, [&](std::size_t i, auto tail) { return tail.load(x + i); }) / n;
  const Lanes<T> means = splat(mean);
  const T squares = lanes16_of_pairs<T>(cols, [&](std::size_t i, auto tail) {
    const Lanes<T> d = tail.keep(flush(tail.load(x + i) - means));
    return d * d;
  });
  return {mean, square_root(squares / n + static_cast<T>(eps))};
}

// (x - mean) / deviation * gamma + beta.
template <class V>
LOOM_INLINE V normalised(const V& x, const V& mean, const V& inverse, const V& gamma, const V& beta) {
  return snap(flush(flush(x - mean) * inverse) * gamma + beta);
}

// make(by_channel)(first element, lanes) over channels of `positions` elements each; by_channel(p) gives each lane p of
// its channel, and what is made of it serves a whole plane.
template <class T, class Make>
LOOM_INLINE void for_channel_lanes(std::size_t channels, std::size_t positions, Make&& make) {
  if (positions == 1) {
    for_lanes(channels,
              [&](std::size_t i, auto lanes) { make([&](const T* p) { return lanes.load(p + i); })(i, lanes); });
    return;
  }
  for (std::size_t c = 0; c < channels; ++c) {
    const auto use = make([&](const T* p) { return splat(p[c]); });
    for_lanes(positions, [&](std::size_t i, auto lanes) { use(c * positions + i, lanes); });
  }
}

template <class T>
void rms_norm_row(const T* x, const T* gamma, double eps, std::size_t cols, T* y) {
  const Lanes<T> rms = splat(rms_scale(x, eps, cols).deviation);
  for_lanes(cols, [&](std::size_t i, auto tail) {
    tail.store(y + i, snap(snap(tail.load(x + i) / rms) * tail.load(gamma + i)));
  });
}

template <class T>
void layer_norm_row(const T* x, const T* gamma, const T* beta, double eps, std::size_t cols, std::size_t positions,
                    T* y) {
  const RowScale<T> row = layer_scale(x, eps, cols);
  const Lanes<T> mean = splat(row.mean), inverse = splat(T{1} / row.deviation);
  for_channel_lanes<T>(cols / positions, positions, [&](auto by_channel) {
    const Lanes<T> gain = by_channel(gamma), offset = beta ? by_channel(beta) : zeros<T>();
    return [=](std::size_t i, auto lanes) {
      lanes.store(y + i, normalised(lanes.load(x + i), mean, inverse, gain, offset));
    };
  });
}

// The sums of g and of g xh over a row.
template <class T>
struct GradientSums {
  LaneSum<T> g, dots;
  LOOM_INLINE void add(const Lanes<T>& gradient, const Lanes<T>& xh) { g.add(gradient), dots.add(gradient * xh); }
  LOOM_INLINE void end_block() { g.end_block(), dots.end_block(); }
};

template <class T, bool kCentred>
LOOM_INLINE Lanes<T> row_normalised(Lanes<T> v, const Lanes<T>& mean, const Lanes<T>& inverse) {
  if (kCentred) v = flush(v - mean);
  return snap(v * inverse);
}

template <class T, bool kCentred>
void backward_row(const T* x, const T* gamma, const T* dy, double eps, std::size_t cols, std::size_t positions, T* xh,
                  T* dx) {
  const RowScale<T> row = kCentred ? layer_scale(x, eps, cols) : rms_scale(x, eps, cols);
  const Lanes<T> mean = splat(row.mean), inverse = splat(T{1} / row.deviation);
  if (dx == nullptr) {
    for_lanes(cols, [&](std::size_t i, auto lanes) {
      lanes.store(xh + i, row_normalised<T, kCentred>(lanes.load(x + i), mean, inverse));
    });
    return;
  }
  // dx holds g = dy gamma until its means are known. Rows of the tensors are often at the same offset of their pages,
  // so loads come before stores: a load after a store would wait.
  GradientSums<T> sums;
  if (positions == 1) {
    for_lane_blocks(
        cols,
        [&](std::size_t i, auto lanes) {
          const Lanes<T> g = snap(lanes.load(dy + i) * lanes.load(gamma + i)),
                         v = row_normalised<T, kCentred>(lanes.load(x + i), mean, inverse);
          lanes.store(xh + i, v), lanes.store(dx + i, g);
          sums.add(g, v);
        },
        [&] { sums.end_block(); });
  } else {
    // Planes have other tails than the row.
    for_channel_lanes<T>(cols / positions, positions, [&](auto by_channel) {
      const Lanes<T> gain = by_channel(gamma);
      return [=](std::size_t i, auto lanes) { lanes.store(dx + i, snap(lanes.load(dy + i) * gain)); };
    });
    for_lane_blocks(
        cols,
        [&](std::size_t i, auto lanes) {
          const Lanes<T> v = row_normalised<T, kCentred>(lanes.load(x + i), mean, inverse);
          lanes.store(xh + i, v);
          sums.add(lanes.load(dx + i), v);
        },
        [&] { sums.end_block(); });
  }
  const auto n = static_cast<T>(cols);
  const Lanes<T> mean_g = splat(snap(fold(sums.g.total) / n)), mean_dot = splat(snap(fold(sums.dots.total) / n));
  for_lanes(cols, [&](std::size_t i, auto lanes) {
    Lanes<T> g = lanes.load(dx + i);
    if (kCentred) g = g - mean_g;
    lanes.store(dx + i, snap(flush(g - lanes.load(xh + i) * mean_dot) * inverse));
  });
}

template <class T>
void offset_row(const T* x, double offset, std::size_t n, T* y) {
  const Lanes<T> o = splat(static_cast<T>(offset));
  for_lanes(n, [&](std::size_t i, auto lanes) { lanes.store(y + i, snap(lanes.load(x + i) + o)); });
}

// N numbers, or lanes of them, that are added together.
template <class V, std::size_t N>
struct Several {
  V v[N]{};
  LOOM_INLINE friend Several operator+(const Several& a, const Several& b) {
    Several sum;
    for (std::size_t k = 0; k < N; ++k) sum.v[k] = a.v[k] + b.v[k];
    return sum;
  }
};

// Channels that are summed and stored together: sixteen channels of one position each, one per lane...
template <class T, class L>
struct ChannelsOfRows {
  const ChannelShape& s;
  std::size_t channel;
  L lanes;
  LOOM_INLINE Lanes<T> get(const T* p) const { return lanes.load(p + channel); }
  LOOM_INLINE void put(T* p, const Lanes<T>& v) const { lanes.store(p + channel, v); }
  // N sums over samples [begin, end); term(lanes, element) gives a term of each.
  template <std::size_t N, class Term>
  LOOM_INLINE Several<Lanes<T>, N> sum(std::size_t begin, std::size_t end, Term term) const {
    return chain64<Several<Lanes<T>, N>>(
        begin, end, [&](std::size_t r) { return Several<Lanes<T>, N>(term(lanes, r * s.channels + channel)); });
  }
};
// ... or one channel with its planes of positions, the same value in every lane.
template <class T>
struct ChannelOfPlanes {
  const ChannelShape& s;
  std::size_t channel;
  LOOM_INLINE Lanes<T> get(const T* p) const { return splat(p[channel]); }
  LOOM_INLINE void put(T* p, const Lanes<T>& v) const { TailLanes{1}.store(p + channel, v); }
  template <std::size_t N, class Term>
  LOOM_INLINE Several<Lanes<T>, N> sum(std::size_t begin, std::size_t end, Term term) const {
    const auto sums = chain64<Several<T, N>>(begin, end, [&](std::size_t r) {
      const std::size_t plane = (r * s.channels + channel) * s.positions;
      LaneSum<T> of[N];
      for_lane_blocks(
          s.positions,
          [&](std::size_t i, auto lanes) {
            const Several<Lanes<T>, N> terms = term(lanes, plane + i);
            for (std::size_t k = 0; k < N; ++k) of[k].add(lanes.keep(terms.v[k]));
          },
          [&] {
            for (LaneSum<T>& each : of) each.end_block();
          });
      Several<T, N> folded;
      for (std::size_t k = 0; k < N; ++k) folded.v[k] = fold(of[k].total);
      return folded;
    });
    Several<Lanes<T>, N> result;
    for (std::size_t k = 0; k < N; ++k) result.v[k] = splat(sums.v[k]);
    return result;
  }
};

template <class T, class F>
LOOM_INLINE void for_channels(const ChannelShape& s, std::size_t begin, std::size_t end, F&& f) {
  if (s.positions == 1)
    for_lanes(end - begin,
              [&](std::size_t i, auto lanes) { f(ChannelsOfRows<T, decltype(lanes)>{s, begin + i, lanes}); });
  else
    for (std::size_t c = begin; c < end; ++c) f(ChannelOfPlanes<T>{s, c});
}

template <class T>
void channel_sums(const ChannelShape& s, const T* a, const T* b, std::size_t begin, std::size_t end, std::size_t block,
                  T* dots, T* sums) {
  const auto add = [&]<std::size_t N>(T* const(&to)[N], auto term) {
    for_channels<T>(s, begin, end, [&](auto channel) {
      Several<Lanes<T>, N> sum;
      for (std::size_t k = 0; k < N; ++k) sum.v[k] = channel.get(to[k]);
      for (std::size_t first = 0; first < s.samples; first += block) {
        sum = sum + channel.template sum<N>(first, s.samples - first < block ? s.samples : first + block, term);
        for (Lanes<T>& v : sum.v) v = snap(v);
      }
      for (std::size_t k = 0; k < N; ++k) channel.put(to[k], sum.v[k]);
    });
  };
  using Both = Several<Lanes<T>, 2>;
  using One = Several<Lanes<T>, 1>;
  if (dots == nullptr)
    add({sums}, [&](auto lanes, std::size_t at) { return One{{lanes.load(a + at)}}; });
  else if (sums == nullptr)
    add({dots}, [&](auto lanes, std::size_t at) { return One{{lanes.load(a + at) * lanes.load(b + at)}}; });
  else
    add({dots, sums}, [&](auto lanes, std::size_t at) {
      const Lanes<T> v = lanes.load(a + at);
      return Both{{v * lanes.load(b + at), v}};
    });
}

template <class T>
void channel_statistics(const ChannelShape& s, const T* x, std::size_t begin, std::size_t end, double eps, T* mean,
                        T* variance, T* deviation) {
  const Lanes<T> n = splat(static_cast<T>(s.samples * s.positions)), e = splat(static_cast<T>(eps));
  using One = Several<Lanes<T>, 1>;
  for_channels<T>(s, begin, end, [&](auto channel) {
    const One sum =
        channel.template sum<1>(0, s.samples, [&](auto lanes, std::size_t at) { return One{{lanes.load(x + at)}}; });
    const Lanes<T> m = snap(sum.v[0] / n);
    const One squares = channel.template sum<1>(0, s.samples, [&](auto lanes, std::size_t at) {
      const Lanes<T> d = snap(lanes.load(x + at) - m);
      return One{{d * d}};
    });
    const Lanes<T> v = snap(squares.v[0] / n);
    channel.put(mean, m), channel.put(variance, v), channel.put(deviation, sqrt(v + e));
  });
}

template <class T>
void deviations(const T* variance, double eps, std::size_t n, T* deviation) {
  const Lanes<T> e = splat(static_cast<T>(eps));
  for_lanes(n, [&](std::size_t i, auto lanes) { lanes.store(deviation + i, sqrt(lanes.load(variance + i) + e)); });
}

template <class T>
void blend_row(const T* a, double factor_a, const T* b, double factor_b, std::size_t n, T* y) {
  const Lanes<T> fa = splat(static_cast<T>(factor_a)), fb = splat(static_cast<T>(factor_b));
  for_lanes(n, [&](std::size_t i, auto lanes) {
    lanes.store(y + i, snap(snap(lanes.load(a + i) * fa) + snap(lanes.load(b + i) * fb)));
  });
}

template <class T>
void batch_norm_rows(const T* x, const T* mean, const T* deviation, const T* gamma, const T* beta, std::size_t channels,
                     std::size_t positions, T* y) {
  const Lanes<T> one = splat(T{1});
  for_channel_lanes<T>(channels, positions, [&](auto by_channel) {
    const Lanes<T> centre = by_channel(mean), inverse = one / by_channel(deviation);
    const Lanes<T> gain = gamma ? by_channel(gamma) : one, offset = beta ? by_channel(beta) : zeros<T>();
    return [=](std::size_t i, auto lanes) {
      lanes.store(y + i, normalised(lanes.load(x + i), centre, inverse, gain, offset));
    };
  });
}

template <class T>
void batch_backward_rows(const T* dy, const T* xh, const T* gamma, const T* deviation, const T* mean_dy,
                         const T* mean_dot, std::size_t channels, std::size_t positions, T* dx) {
  for_channel_lanes<T>(channels, positions, [&](auto by_channel) {
    const Lanes<T> slope = flush(by_channel(gamma) / by_channel(deviation)), none = zeros<T>();
    const Lanes<T> mean = mean_dy ? by_channel(mean_dy) : none, dot = mean_dy ? by_channel(mean_dot) : none;
    return [=](std::size_t i, auto lanes) {
      lanes.store(dx + i, snap(flush(lanes.load(dy + i) - mean - lanes.load(xh + i) * dot) * slope));
    };
  });
}

template <class T>
constexpr NormKernels<T> kKernels = {
    .rms_norm_row = rms_norm_row<T>,
    .layer_norm_row = layer_norm_row<T>,
    .rms_backward_row = backward_row<T, false>,
    .layer_backward_row = backward_row<T, true>,
    .offset = offset_row<T>,
    .channel_sums = channel_sums<T>,
    .channel_statistics = channel_statistics<T>,
    .deviations = deviations<T>,
    .blend = blend_row<T>,
    .batch_norm = batch_norm_rows<T>,
    .batch_backward = batch_backward_rows<T>,
};

}  // namespace

extern const PerElement<NormKernels> norm_kernels;
const PerElement<NormKernels> norm_kernels = {kKernels<float>, kKernels<double>};

}  // namespace loom::inline LOOM_TARGET
