#include "ops/attention/sequence_attention.h"
#include "ops/chain.h"
#include "simd/math.h"
#include "simd/rows.h"

namespace loom::inline LOOM_TARGET {
namespace {

// done(r, sum_k a[r, k] panel[k]) for r in [0, rows), chain64 over the terms.
template <class T, class Done>
LOOM_INLINE void product(const T* panel, const Factor<T>& a, std::size_t rows, std::size_t terms, Done&& done) {
  for_tiles<T>(rows, [&]<int N>(std::size_t r) {
    alignas(64) T total[N][kLanes];
    for (int t = 0; t < N; ++t) store(total[t], zeros<T>());
    add_chain<T, N>(panel, a.at(r, 0), terms, total[0]);
    for (int t = 0; t < N; ++t) done(r + static_cast<std::size_t>(t), load(total[t]));
  });
}

constexpr std::size_t panels_of(std::size_t n) { return (n + kLanes - 1) / kLanes; }

template <class T>
LOOM_INLINE void store_some(T* p, const Lanes<T>& v, std::size_t n) {
  n >= kLanes ? store(p, v) : TailLanes{n}.store(p, v);
}

struct Range {
  std::size_t begin, end;
};

// Keys that position and window let row t see.
template <class T>
LOOM_INLINE Range visible(const SequenceHead<T>& h, std::size_t t) {
  const std::size_t end = h.causal && t + 1 < h.keys ? t + 1 : h.keys;
  const std::size_t begin = h.window != 0 && t + 1 > h.window ? t + 1 - h.window : 0;
  return {begin < end ? begin : end, end};
}

// Columns of the scores that rows [row, row + rows) are computed for: from a multiple of kChain, in whole lanes.
template <class T>
LOOM_INLINE Range columns(const SequenceHead<T>& h, std::size_t row, std::size_t rows) {
  const Range last = visible(h, row + rows - 1);
  return {visible(h, row).begin / kChain * kChain, panels_of(last.end) * kLanes};
}

// to[r, j] = dot(a[r], key j) for the columns.
template <class T>
void dot_keys(const SequenceHead<T>& h, const T* panels, const T* a, std::size_t rows, Range columns, T* to) {
  for (std::size_t j = columns.begin; j < columns.end; j += kLanes)
    product(panels + j * h.dim, Factor<T>{a, h.width, 1}, rows, h.dim,
            [&](std::size_t r, const Lanes<T>& total) { store(to + r * h.stride + j, snap(total)); });
}

// to[r] = sum_j p[r, j] value j.
template <class T>
void weigh_values(const SequenceHead<T>& h, const T* panels, const T* p, std::size_t rows, Range columns, T* to) {
  const std::size_t end = columns.end < h.keys ? columns.end : h.keys;
  for (std::size_t d = 0; d < h.dim; d += kLanes)
    product(panels + d * h.keys + columns.begin * kLanes, Factor<T>{p + columns.begin, h.stride, 1}, rows,
            end - columns.begin,
            [&](std::size_t r, const Lanes<T>& total) { store_some(to + r * h.width + d, snap(total), h.dim - d); });
}

// totals[j] += sum_r a[r, j] b[row + r] for the columns: one block of the chain over t.
template <class T>
void add_over_rows(const SequenceHead<T>& h, const T* a, const T* panels, std::size_t row, std::size_t rows,
                   Range columns, T* totals) {
  const std::size_t end = columns.end < h.keys ? columns.end : h.keys, width = panels_of(h.dim) * kLanes;
  for (std::size_t d = 0; d < h.dim; d += kLanes)
    product(panels + d * h.steps + row * kLanes, Factor<T>{a + columns.begin, 1, h.stride}, end - columns.begin, rows,
            [&](std::size_t j, const Lanes<T>& total) {
              T* const to = totals + (columns.begin + j) * width + d;
              store(to, load(to) + total);
            });
}

// Dot products of row t to probabilities, in place. With slopes: the derivative of the softcap at each.
template <class T>
void softmax(const SequenceHead<T>& h, std::size_t t, Range columns, T* s, T* slopes) {
  alignas(64) T counted[kLanes];
  for (std::size_t i = 0; i < kLanes; ++i) counted[i] = static_cast<T>(i);
  const Lanes<T> numbers = load(counted), none = zeros<T>(), one = splat(T{1}), scale = splat(h.scale),
                 c = splat(h.softcap);
  const Lanes<T> lowest = splat(static_cast<T>(-__builtin_huge_val()));
  const Range range = visible(h, t);
  const auto seen = [&](std::size_t i) {
    auto lanes = (numbers >= splat(static_cast<T>(range.begin > i ? range.begin - i : 0))) &
                 (numbers < splat(static_cast<T>(range.end > i ? range.end - i : 0)));
    if (h.mask != nullptr) lanes = lanes & (load(h.mask + i) > none);
    return lanes;
  };
  Lanes<T> top = lowest, some = none;
  for (std::size_t i = columns.begin; i < columns.end; i += kLanes) {
    Lanes<T> x = snap(load(s + i) * scale);
    if (h.softcap != 0) {
      const Lanes<T> y = snap(tanh(snap(x / c)));
      x = snap(c * y);
      if (slopes != nullptr) store(slopes + i, snap(one - snap(y * y)));
    }
    store(s + i, x);
    const auto lanes = seen(i);
    top = max(select(lanes, x, lowest), top);
    some = select(lanes, one, some);
  }
  if (max_lane(some) == 0) {
    for (std::size_t i = columns.begin; i < columns.end; i += kLanes) store(s + i, none);
    return;
  }
  const Lanes<T> largest = splat(max_lane(top));
  LaneSum<T> sum;
  for (std::size_t i = columns.begin; i < columns.end; i += kLanes) {
    if (i % kLaneBlock == 0) sum.end_block();
    const Lanes<T> e = select(seen(i), snap(exp(snap(load(s + i) - largest))), none);
    sum.add(e);
    store(s + i, e);
  }
  sum.end_block();
  const Lanes<T> total = splat(fold(sum.total));
  for (std::size_t i = columns.begin; i < columns.end; i += kLanes) store(s + i, snap(load(s + i) / total));
}

template <class T>
void attend(const SequenceHead<T>& h, std::size_t row, std::size_t rows) {
  const Range range = columns(h, row, rows);
  dot_keys(h, h.keys_as_keys, h.queries + row * h.width, rows, range, h.scores);
  for (std::size_t r = 0; r < rows; ++r) softmax(h, row + r, range, h.scores + r * h.stride, static_cast<T*>(nullptr));
  weigh_values(h, h.values_as_values, h.scores, rows, range, h.out + row * h.width);
}

// dp to ds, in place.
template <class T>
void softmax_gradient(const SequenceHead<T>& h, Range columns, const T* p, const T* slopes, T* d) {
  LaneSum<T> sum;
  for (std::size_t i = columns.begin; i < columns.end; i += kLanes) {
    if (i % kLaneBlock == 0) sum.end_block();
    sum.add(load(p + i) * load(d + i));
  }
  sum.end_block();
  const Lanes<T> mean = splat(fold(sum.total)), scale = splat(h.scale);
  for (std::size_t i = columns.begin; i < columns.end; i += kLanes) {
    Lanes<T> v = snap(load(p + i) * snap(load(d + i) - mean));
    if (h.softcap != 0) v = snap(v * load(slopes + i));
    store(d + i, snap(v * scale));
  }
}

template <class T>
void gradient(const SequenceHeadGradient<T>& g) {
  const SequenceHead<T>& h = g.forward;
  const std::size_t totals = h.keys * panels_of(h.dim) * kLanes;
  for (std::size_t i = 0; i < totals; ++i) g.d_keys[i] = g.d_values[i] = 0;
  for (std::size_t row = 0; row < h.steps; row += kGradientRows) {
    const std::size_t rows = h.steps - row < kGradientRows ? h.steps - row : kGradientRows;
    const Range range = columns(h, row, rows);
    dot_keys(h, h.keys_as_keys, h.queries + row * h.width, rows, range, h.scores);
    dot_keys(h, g.values_as_keys, g.d_out + row * h.width, rows, range, g.d_scores);
    for (std::size_t r = 0; r < rows; ++r) {
      T* const slopes = h.softcap != 0 ? g.slopes + r * h.stride : nullptr;
      softmax(h, row + r, range, h.scores + r * h.stride, slopes);
      softmax_gradient(h, range, h.scores + r * h.stride, slopes, g.d_scores + r * h.stride);
    }
    weigh_values(h, g.keys_as_values, g.d_scores, rows, range, g.d_queries + row * h.width);
    add_over_rows(h, g.d_scores, g.queries_as_values, row, rows, range, g.d_keys);
    add_over_rows(h, h.scores, g.d_out_as_values, row, rows, range, g.d_values);
  }
}

template <class T>
void sum_heads(const T* totals, std::size_t apart, std::size_t count, std::size_t dim, T* out) {
  for_lanes(dim, [&](std::size_t i, auto lanes) {
    Lanes<T> sum = snap(lanes.load(totals + i));
    for (std::size_t n = 1; n < count; ++n) sum = snap(sum + snap(lanes.load(totals + n * apart + i)));
    lanes.store(out + i, sum);
  });
}

template <class T>
constexpr SequenceAttentionKernels<T> kKernels = {
    .attend = attend<T>, .gradient = gradient<T>, .sum_heads = sum_heads<T>};

}  // namespace

extern const PerElement<SequenceAttentionKernels> sequence_attention_kernels;
const PerElement<SequenceAttentionKernels> sequence_attention_kernels = {kKernels<float>, kKernels<double>};

}  // namespace loom::inline LOOM_TARGET
