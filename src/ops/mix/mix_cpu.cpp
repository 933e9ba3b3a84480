#include "ops/mix/mix.h"
#include "ops/non_finite.h"
#include "simd/math.h"
#include "simd/rows.h"

namespace loom::inline LOOM_TARGET {
namespace {

// This number stands for a branch that was left out. It is a NaN whose bits no stored value has, and is known by them.
template <class T>
LOOM_INLINE T absent() {
  if constexpr (sizeof(T) == 8)
    return __builtin_bit_cast(double, kQuietNan64 | 1);
  else
    return __builtin_bit_cast(float, kQuietNan | 1);
}
LOOM_INLINE I32x16 is_absent(const F32x16& v) { return bits(v) == splat(static_cast<std::int32_t>(kQuietNan | 1)); }
LOOM_INLINE I64x16 is_absent(const F64x16& v) {
  return detail::each64<I64x16>(
      [](auto x) { return (native::I64)((native::I64)x == static_cast<std::int64_t>(kQuietNan64 | 1)); }, v);
}

// A branch that takes part and has fewer than top_k better ones.
template <class T>
LOOM_INLINE bool is_kept(const GateRule& rule, const T* z, std::size_t n, std::size_t i) {
  if (rule.enabled[i] == 0) return false;
  if (rule.top_k == 0 || rule.top_k >= n) return true;
  std::size_t better = 0;
  for (std::size_t j = 0; j < n; ++j) better += rule.enabled[j] != 0 && (z[j] > z[i] || (z[j] == z[i] && j < i));
  return better < rule.top_k;
}

template <class T>
LOOM_INLINE T sum_of(const T* v, std::size_t n) {
  return lanes16<T>(n, [&](std::size_t i, auto lanes) { return lanes.load(v + i); });
}

template <class T>
void gate_row(const GateRule& rule, const T* z, std::size_t n, T* p) {
  bool all = true;
  for (std::size_t i = 0; i < n; ++i) {
    const bool kept = is_kept(rule, z, n, i);
    all &= kept;
    p[i] = kept ? z[i] : rule.given ? T{0} : absent<T>();
  }
  if (rule.given) {
    const T sum = all ? T{1} : sum_of(p, n);
    // the sum may be NaN
    for (std::size_t i = 0; i < n && !all; ++i) p[i] = sum == 0 || p[i] == 0 ? T{0} : snap(p[i] / sum);
    return;
  }
  const Lanes<T> temperature = splat(static_cast<T>(rule.temperature));
  for_lanes(n, [&](std::size_t i, auto lanes) {
    const Lanes<T> v = lanes.load(p + i);
    lanes.store(p + i, select(is_absent(v), v, snap(v / temperature)));
  });
  T top = kLowest<T>;
  for (std::size_t i = 0; i < n; ++i) top = p[i] > top ? p[i] : top;  // what is absent loses, as a NaN does
  const Lanes<T> largest = splat(top);
  for_lanes(n, [&](std::size_t i, auto lanes) {
    const Lanes<T> v = lanes.load(p + i);
    lanes.store(p + i, select(is_absent(v), zeros<T>(), snap(exp(snap(v - largest)))));
  });
  const T sum = sum_of(p, n);
  if (sum == 0) return;  // nothing is kept
  const Lanes<T> total = splat(sum);
  // Absent branches did not run: they stay 0 even if the total is NaN.
  for_lanes(n, [&](std::size_t i, auto lanes) {
    const Lanes<T> v = lanes.load(p + i);
    lanes.store(p + i, select(v == zeros<T>(), zeros<T>(), snap(v / total)));
  });
}

template <class T>
void gate_backward_row(const GateRule& rule, const T* z, const T* p, const T* q, std::size_t n, T* dz) {
  bool all = true;
  T kept_sum = 0;
  if (rule.given) {
    kept_sum = lanes16<T>(n, [&](std::size_t i) {
      const bool kept = is_kept(rule, z, n, i);
      all &= kept;
      return kept ? z[i] : T{0};
    });
  }
  const T mean = snap(lanes16<T>(n, [&](std::size_t i, auto lanes) { return lanes.load(p + i) * lanes.load(q + i); }));
  for (std::size_t i = 0; i < n; ++i) {
    const T gap = snap(q[i] - mean);
    if (!rule.given) {
      dz[i] = p[i] == 0 ? T{0} : snap(snap(p[i] * gap) / static_cast<T>(rule.temperature));
    } else if (all) {
      dz[i] = q[i];
    } else {
      dz[i] = is_kept(rule, z, n, i) && kept_sum != 0 ? snap(gap / kept_sum) : T{0};
    }
  }
}

template <class T>
void mix_row(const T* p, const T* const* b, std::size_t n, std::size_t first, std::size_t count, T* y) {
  for_lanes(count, [&](std::size_t i, auto lanes) {
    Chain64<Lanes<T>> sum;
    for (std::size_t k = 0; k < n; ++k)
      if (p[k] != 0) sum.add(k, splat(p[k]) * lanes.load(b[k] + first + i));
    lanes.store(y + first + i, snap(sum.total()));
  });
}

template <class T>
void branch_row(const T* weight, const T* dy, std::size_t n, T* d) {
  if (*weight == 0) {
    __builtin_memset(d, 0, n * sizeof(T));
    return;
  }
  const Lanes<T> by = splat(*weight);
  for_lanes(n, [&](std::size_t i, auto lanes) { lanes.store(d + i, snap(lanes.load(dy + i) * by)); });
}

template <class T>
void dot_row(const T* a, const T* b, std::size_t n, T* to) {
  *to = snap(chain64<T>(0, n, [&](std::size_t i) { return a[i] * b[i]; }));
}

template <class T>
void top_shares(const GateRule& rule, const T* z, std::size_t groups, std::size_t n, T* shares) {
  for (std::size_t i = 0; i < n; ++i) shares[i] = 0;
  for (std::size_t g = 0; g < groups; ++g) {
    const T* row = z + g * n;
    std::size_t best = n;
    for (std::size_t i = 0; i < n; ++i)
      if (rule.enabled[i] != 0 && (best == n || row[i] > row[best])) best = i;
    if (best < n) shares[best] += 1;  // exact below 2^24 groups
  }
  for (std::size_t i = 0; i < n; ++i) shares[i] = shares[i] / static_cast<T>(groups);
}

template <class T>
void balance(const T* shares, const T* p, std::size_t groups, std::size_t n, T weight, T* sum) {
  const Lanes<T> count = splat(static_cast<T>(groups));
  const T total = lanes16<T>(n, [&](std::size_t i, auto lanes) {
    const Lanes<T> mean =
        snap(chain64<Lanes<T>>(0, groups, [&](std::size_t g) { return lanes.load(p + g * n + i); }) / count);
    return lanes.load(shares + i) * mean;
  });
  *sum = snap(*sum + snap(weight * total));
}

template <class T>
constexpr MixKernels<T> kKernels = {
    .weights = gate_row<T>,
    .weights_backward = gate_backward_row<T>,
    .shares = top_shares<T>,
    .balance = balance<T>,
    .mix = mix_row<T>,
    .branch = branch_row<T>,
    .dot = dot_row<T>,
};

}  // namespace

extern const PerElement<MixKernels> mix_kernels;
const PerElement<MixKernels> mix_kernels = {kKernels<float>, kKernels<double>};

}  // namespace loom::inline LOOM_TARGET
