#include "ops/non_finite.h"
#include "ops/softmax/row_dot.h"
#include "ops/softmax/softmax.h"
#include "simd/math.h"

namespace loom::inline LOOM_TARGET {
namespace {

// to = (x / T - max) * factor. False when the row holds a NaN or its largest entry is infinite: then it has no
// distribution, and to is NaN.
template <class T>
LOOM_INLINE bool shifted(const T* x, T temperature, T factor, std::size_t n, T* to) {
  const Lanes<T> t = splat(temperature), by = splat(factor), zero = zeros<T>(), one = splat(T{1});
  Lanes<T> bad = zero;
  for_lanes(n, [&](std::size_t i, auto lanes) {
    const Lanes<T> z = snap(lanes.load(x + i) / t);
    bad = max(select(is_nan(z), one, zero), bad);
    lanes.store(to + i, z);
  });
  T largest = to[0];
  for (std::size_t i = 1; i < n; ++i) largest = to[i] > largest ? to[i] : largest;
  if (max_lane(bad) != 0 || !is_finite(largest)) {
    for (std::size_t i = 0; i < n; ++i) to[i] = quiet_nan_of<T>();
    return false;
  }
  const Lanes<T> top = splat(largest);
  for_lanes(n, [&](std::size_t i, auto lanes) { lanes.store(to + i, snap(snap(lanes.load(to + i) - top) * by)); });
  return true;
}

// The entries of a row, largest first, as long as the caller asks for one: a heap, since few of them are above the
// threshold. Equal values have no order.
template <class T>
class LargestFirst {
 public:
  LOOM_INLINE LargestFirst(const T* row, std::size_t n, T* heap) : heap_(heap), n_(n) {
    __builtin_memcpy(heap, row, n * sizeof(T));
    for (std::size_t i = n / 2; i-- > 0;) sink(i, heap_[i]);
  }
  LOOM_INLINE T next() const { return heap_[0]; }
  LOOM_INLINE void drop() {
    --n_;
    if (n_ != 0) sink(0, heap_[n_]);
  }

 private:
  LOOM_INLINE void sink(std::size_t i, T value) {
    for (std::size_t child = 2 * i + 1; child < n_; child = 2 * i + 1) {
      child += child + 1 < n_ && heap_[child + 1] > heap_[child];
      if (!(heap_[child] > value)) break;
      heap_[i] = heap_[child], i = child;
    }
    heap_[i] = value;
  }
  T* heap_;
  std::size_t n_;
};

template <class T>
void sparsemax(const T* x, T temperature, std::size_t n, T* scratch, T* p) {
  if (!shifted(x, temperature, T{1}, n, p)) return;
  LargestFirst<T> sorted(p, n, scratch);
  T sum = 0, tau = 0;
  for (std::size_t i = 0; i < n; ++i, sorted.drop()) {
    sum = sum + sorted.next();
    const T candidate = snap(snap(sum - 1) / static_cast<T>(i + 1));
    if (!(sorted.next() > candidate)) break;
    tau = candidate;
  }
  const Lanes<T> least = splat(tau), zero = zeros<T>();
  for_lanes(n, [&](std::size_t i, auto lanes) {
    const Lanes<T> z = lanes.load(p + i);
    lanes.store(p + i, select(z > least, snap(z - least), zero));
  });
}

template <class T>
void sparsemax_backward(const T* p, const T* dy, T temperature, std::size_t n, T* dx) {
  const Lanes<T> zero = zeros<T>(), t = splat(temperature);
  std::size_t support = 0;
  for (std::size_t i = 0; i < n; ++i) support += p[i] > 0;
  const T sum = lanes16<T>(
      n, [&](std::size_t i, auto lanes) { return select(lanes.load(p + i) > zero, lanes.load(dy + i), zero); });
  const Lanes<T> mean = splat(snap(sum / static_cast<T>(support)));
  for_lanes(n, [&](std::size_t i, auto lanes) {
    const Lanes<T> d = snap(snap(lanes.load(dy + i) - mean) / t);
    lanes.store(dx + i, select(lanes.load(p + i) > zero, d, zero));
  });
}

// tau = mean - sqrt((1 - n var) / n) over the largest n entries, the most of them that tau does not pass.
template <class T>
void entmax15(const T* x, T temperature, std::size_t n, T* scratch, T* p) {
  if (!shifted(x, temperature, static_cast<T>(0.5), n, p)) return;
  LargestFirst<T> sorted(p, n, scratch);
  T sum = 0, squares = 0, tau = 0;
  for (std::size_t i = 0; i < n; ++i, sorted.drop()) {
    const T z = sorted.next();
    if (!is_finite(z)) break;  // minus infinity is below any threshold
    sum = sum + z, squares = squares + z * z;
    const auto count = static_cast<T>(i + 1);
    const T mean = snap(sum / count);
    const T rest = snap((1 - (squares - count * snap(mean * mean))) / count);
    const T candidate = mean - square_root(rest > 0 ? rest : T{0});
    if (!(z >= candidate)) break;
    tau = candidate;
  }
  const Lanes<T> least = splat(tau), zero = zeros<T>();
  for_lanes(n, [&](std::size_t i, auto lanes) {
    const Lanes<T> z = lanes.load(p + i), root = select(z > least, snap(z - least), zero);
    lanes.store(p + i, snap(root * root));
  });
}

template <class T>
LOOM_INLINE void powers_row(const T* p, T power, std::size_t n, T* s) {
  const Lanes<T> zero = zeros<T>(), by = splat(power), one = splat(T{1});
  for_lanes(n, [&](std::size_t i, auto lanes) {
    const Lanes<T> v = lanes.load(p + i);
    lanes.store(s + i, select(v > zero, snap(pow(select(v > zero, v, one), by)), zero));
  });
}

template <class T>
LOOM_INLINE void bisect_row(const T* z, T power, std::size_t n, T* p) {
  constexpr int kSteps = sizeof(T) == 8 ? 50 : 30;  // the threshold is in [-1, 0]
  const Lanes<T> zero = zeros<T>(), by = splat(power), one = splat(T{1});
  const auto fill = [&](T tau) {
    const Lanes<T> least = splat(tau);
    return lanes16<T>(n, [&](std::size_t i, auto lanes) {
      const Lanes<T> above = snap(lanes.load(z + i) - least),
                     v = select(above > zero, snap(pow(select(above > zero, above, one), by)), zero);
      lanes.store(p + i, v);
      return lanes.keep(v);
    });
  };
  T low = -1, high = 0;
  for (int step = 0; step < kSteps; ++step) {
    const T tau = (low + high) / 2;
    (fill(tau) >= 1 ? low : high) = tau;
  }
  const Lanes<T> total = splat(fill(low));
  for_lanes(n, [&](std::size_t i, auto lanes) { lanes.store(p + i, snap(lanes.load(p + i) / total)); });
}

template <class T>
void entmax(const T* x, T temperature, T factor, T power, std::size_t n, T* scratch, T* p) {
  if (!shifted(x, temperature, factor, n, p)) return;
  __builtin_memcpy(scratch, p, n * sizeof(T));
  bisect_row(scratch, power, n, p);
}

// dx from s = p^(2 - alpha).
template <class T>
LOOM_INLINE void backward_of(const T* s, const T* dy, T temperature, std::size_t n, T* dx) {
  const T total = lanes16<T>(n, [&](std::size_t i, auto lanes) { return lanes.load(s + i); });
  const Lanes<T> mean = splat(snap(row_dot(s, dy, n) / total)), t = splat(temperature);
  for_lanes(n, [&](std::size_t i, auto lanes) {
    lanes.store(dx + i, snap(snap(lanes.load(s + i) * snap(lanes.load(dy + i) - mean)) / t));
  });
}

template <class T>
void entmax15_backward(const T* p, const T* dy, T temperature, std::size_t n, T* scratch, T* dx) {
  const Lanes<T> zero = zeros<T>();
  for_lanes(n, [&](std::size_t i, auto lanes) {
    const Lanes<T> v = lanes.load(p + i);
    lanes.store(scratch + i, sqrt(select(v > zero, v, zero)));
  });
  backward_of(scratch, dy, temperature, n, dx);
}

template <class T>
void entmax_backward(const T* p, const T* dy, T temperature, T power, std::size_t n, T* scratch, T* dx) {
  powers_row(p, power, n, scratch);
  backward_of(scratch, dy, temperature, n, dx);
}

template <class T>
constexpr SparseSoftmaxKernels<T> kKernels = {
    .sparsemax = sparsemax<T>,
    .sparsemax_backward = sparsemax_backward<T>,
    .entmax15 = entmax15<T>,
    .entmax = entmax<T>,
    .entmax15_backward = entmax15_backward<T>,
    .entmax_backward = entmax_backward<T>,
};

}  // namespace

extern const PerElement<SparseSoftmaxKernels> sparse_softmax_kernels;
const PerElement<SparseSoftmaxKernels> sparse_softmax_kernels = {kKernels<float>, kKernels<double>};

}  // namespace loom::inline LOOM_TARGET
