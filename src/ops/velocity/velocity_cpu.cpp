#include "ops/velocity/velocity.h"

#include "ops/non_finite.h"
#include "simd/rows.h"

namespace loom::inline LOOM_TARGET {
namespace {

template <class T>
void rate_of(T base, const T* figures, const T* factor, T* rate) {
  const T half = static_cast<T>(0.5), own = base * (half + half * figures[kBudget]);
  rate[kTakesPart] = figures[kMoves];
  rate[kRate] = figures[kMoves] == 0 ? T{0} : factor == nullptr ? own : own * *factor;
}

template <class T>
void take_part(const T* rate, T* moved) {
  if (rate[kTakesPart] != 0) *moved = 1;
}

template <class T>
void products_row(const T* rate, const T* g, std::size_t n, T* sum) {
  if (rate[kTakesPart] == 0) return;
  const Lanes<T> by = splat(rate[kRate]);
  for_lanes(n, [&](std::size_t i, auto lanes) {
    lanes.store(sum + i, snap(lanes.load(sum + i) + snap(by * lanes.load(g + i))));
  });
}

// 1 in lanes that hold no finite number.
template <class T>
LOOM_INLINE Lanes<T> not_finite(const Lanes<T>& v) {
  return select(is_finite(v), zeros<T>(), splat(T{1}));
}

template <class T>
void velocity_block(T keep, T take, const T* rate, const T* g, const T* w, std::size_t n, T* v, T* to) {
  Lanes<T> squares = zeros<T>(), bad = zeros<T>();
  if (rate[kTakesPart] == 0) {
    for_lanes(n, [&](std::size_t i, auto lanes) { bad = bad + not_finite<T>(lanes.load(g + i)); });
  } else {
    const Lanes<T> by = splat(rate[kRate]), kept = splat(keep), taken = splat(take);
    for_lanes(n, [&](std::size_t i, auto lanes) {
      const Lanes<T> product = lanes.load(g + i);
      const Lanes<T> now = snap(snap(kept * lanes.load(v + i)) + snap(taken * snap(by * product)));
      lanes.store(v + i, now);
      squares = squares + now * now;
      bad = bad + max(not_finite<T>(product), not_finite<T>(lanes.load(w + i) + now));
    });
  }
  store(to + kSquares * kLanes, squares), store(to + kNotFinite * kLanes, bad);
}

template <class T>
void check(const T* figures, float* failed) {
  if (figures[kNotFinite] != 0 || !is_finite(figures[kSquares])) *failed = 1;
}

template <class T>
void move_row(const T* rate, const T* figures, const float* failed, const T* v, T limit, std::size_t n, T* w) {
  if (rate[kTakesPart] == 0 || figures[kSquares] == 0 || *failed != 0) return;
  const Lanes<T> low = splat(-limit), high = splat(limit);
  for_lanes(n, [&](std::size_t i, auto lanes) {
    const Lanes<T> next = snap(lanes.load(w + i) + lanes.load(v + i));
    lanes.store(w + i, limit > 0 ? select(next > high, high, select(next < low, low, next)) : next);
  });
}

template <class T>
void scaled_row(T factor, const T* x, std::size_t n, T* y) {
  const Lanes<T> by = splat(factor);
  for_lanes(n, [&](std::size_t i, auto lanes) {
    lanes.store(y + i, snap(lanes.load(y + i) + snap(by * lanes.load(x + i))));
  });
}

template <class T>
void change_row(const T* before, const T* now, std::size_t n, T* y) {
  for_lanes(n, [&](std::size_t i, auto lanes) {
    lanes.store(y + i, snap(lanes.load(y + i) + snap(lanes.load(now + i) - lanes.load(before + i))));
  });
}

template <class T>
constexpr VelocityKernels<T> kKernels = {
    .rate = rate_of<T>,
    .take_part = take_part<T>,
    .products = products_row<T>,
    .velocity = velocity_block<T>,
    .check = check<T>,
    .move = move_row<T>,
    .scaled = scaled_row<T>,
    .change = change_row<T>,
};

}  // namespace

extern const PerElement<VelocityKernels> velocity_kernels;
const PerElement<VelocityKernels> velocity_kernels =
    per_element<PerElement<VelocityKernels>>([]<class T> { return kKernels<T>; });

}  // namespace loom::inline LOOM_TARGET
