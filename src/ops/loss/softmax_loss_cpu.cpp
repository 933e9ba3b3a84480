#include "ops/loss/factor.h"
#include "ops/loss/softmax_loss.h"
#include "simd/math.h"
#include "simd/rows.h"

namespace loom::inline LOOM_TARGET {
namespace {

LOOM_INLINE float log_one(float x) { return log(x); }
LOOM_INLINE double log_one(double x) { return log64(x); }
LOOM_INLINE float log1p_one(float x) { return log1p(x); }
LOOM_INLINE double log1p_one(double x) { return log1p64(x); }
LOOM_INLINE float exp_one(float x) { return exp(x); }
LOOM_INLINE double exp_one(double x) { return exp64(x); }

// The lanes i, i + 1, ... of a row with lane `at` replaced, where it is among them.
template <class T>
LOOM_INLINE Lanes<T> with_lane(const Lanes<T>& v, std::size_t i, std::size_t at, T value) {
  if (at - i >= kLanes) return v;
  alignas(64) T lanes[kLanes];
  store(lanes, v);
  lanes[at - i] = value;
  return load(lanes);
}

// The first of the largest of a row and its value. A NaN loses, but one that stands first is the value, and then there
// is no first: n.
template <class T>
struct Largest {
  T value;
  std::size_t at;
};
template <class T>
LOOM_INLINE Largest<T> largest_of(const T* x, std::size_t n) {
  Largest<T> top{x[0], 0};
  std::size_t run = 0;  // where the run with the largest begins
  for (std::size_t first = 0; first < n; first += kLaneBlock) {
    const std::size_t end = n - first < kLaneBlock ? n : first + kLaneBlock;
    Lanes<T> lanes = splat(top.value);
    std::size_t i = first;
    for (; i + kLanes <= end; i += kLanes) lanes = max(load(x + i), lanes);
    T value = max_lane(lanes);
    for (; i < end; ++i) value = x[i] > value ? x[i] : value;
    if (value > top.value) top.value = value, run = first;
  }
  for (top.at = run; top.at < n && !(x[top.at] == top.value);) ++top.at;
  return top;
}

template <class T>
struct SoftmaxSums {
  T top;          // x_m
  std::size_t m;  // n where there is none, in rows that begin with a NaN
  T rest, total;  // of the exponentials but m's, and of all
  T log_total;
  LOOM_INLINE T shifted(T x) const { return snap(x - top); }
  LOOM_INLINE Lanes<T> shifted(const Lanes<T>& x) const { return snap(x - splat(top)); }
  LOOM_INLINE T missing() const { return rest / total; }  // 1 - p_m
  LOOM_INLINE T p(T x) const { return snap(snap(exp_one(shifted(x))) / total); }
};

// The exponentials are left in e, unless it is null.
template <class T>
LOOM_INLINE SoftmaxSums<T> softmax_sums(const T* x, std::size_t n, T* e) {
  const Largest<T> largest = largest_of(x, n);
  SoftmaxSums<T> s{.top = largest.value, .m = largest.at, .rest = 0, .total = 0, .log_total = 0};
  const T rest = lanes16<T>(n, [&](std::size_t i, auto lanes) {
    const Lanes<T> v = snap(exp(s.shifted(lanes.load(x + i))));
    if (e != nullptr) lanes.store(e + i, v);
    return with_lane(lanes.keep(v), i, s.m, T{0});
  });
  s.rest = if_finite(s.top, rest);
  s.total = 1 + s.rest;
  s.log_total = snap(log1p_one(s.rest));
  return s;
}

// One class without smoothing: nothing but the exponentials is read twice.
template <class T>
LOOM_INLINE void class_row(const SoftmaxLossRow<T>& row) {
  const std::size_t c = row.wanted;
  const T weight = row.class_weights == nullptr ? T{1} : row.class_weights[c];
  const SoftmaxSums<T> s = softmax_sums(row.x, row.n, row.gradient);
  if (T* const g = row.gradient; g != nullptr) {
    const T scale = flush_factor(weight * row.scale), own = c == s.m ? T{0} - s.missing() : g[c] / s.total - T{1};
    const Lanes<T> factor = splat(flush_factor(scale / s.total));
    for_lanes(row.n, [&](std::size_t i, auto lanes) { lanes.store(g + i, snap(lanes.load(g + i) * factor)); });
    g[c] = snap(own * scale);
  }
  *row.value = weight == 0 ? T{0} : snap(weight * (s.log_total - s.shifted(row.x[c])));
}

template <class T>
void softmax_loss_row(const SoftmaxLossRow<T>& row) {
  if (row.targets == nullptr && row.everywhere == 0 && row.keep == 1) return class_row(row);
  const SoftmaxSums<T> s = softmax_sums(row.x, row.n, row.gradient);
  const Lanes<T> keep = splat(row.keep), everywhere = splat(row.everywhere);
  const auto share = [&](std::size_t i, auto lanes) {
    const Lanes<T> t =
        row.targets != nullptr ? lanes.load(row.targets + i) : with_lane(zeros<T>(), i, row.wanted, T{1});
    const Lanes<T> v = snap(t * keep + everywhere);
    return lanes.keep(row.class_weights != nullptr ? snap(v * lanes.load(row.class_weights + i)) : v);
  };
  T own = 0;
  const T others = lanes16<T>(row.n, [&](std::size_t i, auto lanes) {
    const Lanes<T> v = share(i, lanes);
    if (s.m - i >= kLanes) return v;
    alignas(64) T at[kLanes];
    store(at, v);
    own = at[s.m - i];
    return with_lane(v, i, s.m, T{0});
  });
  const T sum = snap(others + own), factor = sum / s.total;
  const Lanes<T> scale = splat(row.scale), factors = splat(factor), zero = zeros<T>(), log_total = splat(s.log_total);
  const T value = lanes16<T>(row.n, [&](std::size_t i, auto lanes) {
    const Lanes<T> v = share(i, lanes);
    if (row.gradient != nullptr)
      lanes.store(row.gradient + i, snap((lanes.load(row.gradient + i) * factors - v) * scale));
    return lanes.keep(select(v == zero, zero, v * (log_total - s.shifted(lanes.load(row.x + i)))));
  });
  if (row.gradient != nullptr && s.m < row.n) row.gradient[s.m] = snap((others - snap(sum * s.missing())) * row.scale);
  *row.value = snap(value);
}

// One head of n: without targets the class is `wanted`.
template <class T>
struct HeadLossRow {
  const T *x, *targets;
  std::size_t wanted;
  T scale;
  std::size_t n;
  T* gradient;
};
template <class T>
T head_row(const HeadLossRow<T>& row) {
  std::size_t c = row.wanted;
  if (row.targets != nullptr)
    for (std::size_t k = 1; k < row.n; ++k) c = row.targets[k] > row.targets[c] ? k : c;
  const SoftmaxSums<T> s = softmax_sums(row.x, row.n, row.gradient);
  const T floor = static_cast<T>(kHeadFloor), p = s.p(row.x[c]), missing = c == s.m ? s.missing() : T{1} - p;
  if (T* const g = row.gradient; g != nullptr) {
    const T scale = flush_factor(p / (p + floor) * row.scale);
    const Lanes<T> factor = splat(flush_factor(scale / s.total));
    for_lanes(row.n, [&](std::size_t i, auto lanes) { lanes.store(g + i, snap(lanes.load(g + i) * factor)); });
    g[c] = snap((T{0} - missing) * scale);
  }
  return T{0} - (missing < static_cast<T>(0.5) ? log1p_one(floor - missing) : log_one(p + floor));
}

template <class T>
void heads_row(const HeadsLossRow<T>& row) {
  Chain64<T> sum;
  for (std::size_t h = 0, first = 0; h < row.num_heads; first += row.heads[h], ++h) {
    const std::size_t n = row.heads[h];
    T* const g = row.gradient == nullptr ? nullptr : row.gradient + first;
    if (row.mask != nullptr && !(row.mask[h] > 0.5f)) {
      if (g != nullptr) __builtin_memset(g, 0, n * sizeof(T));
      continue;
    }
    sum.add(h, head_row<T>({.x = row.x + first,
                            .targets = row.targets == nullptr ? nullptr : row.targets + first,
                            .wanted = row.classes == nullptr ? 0 : static_cast<std::size_t>(row.classes[h]),
                            .scale = row.scale,
                            .n = n,
                            .gradient = g}));
  }
  *row.value = snap(sum.total());
}

template <class T>
constexpr SoftmaxLossKernels<T> kSoftmaxLossKernels = {.row = softmax_loss_row<T>, .heads = heads_row<T>};

}  // namespace

extern const PerElement<SoftmaxLossKernels> softmax_loss_kernels;
const PerElement<SoftmaxLossKernels> softmax_loss_kernels = {kSoftmaxLossKernels<float>, kSoftmaxLossKernels<double>};

}  // namespace loom::inline LOOM_TARGET
