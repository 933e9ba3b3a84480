// Sparsemax and entmax: a threshold tau per row, found in the sorted row or by bisection.

#include <algorithm>
#include <cmath>

#include "ops/for_rows.h"
#include "simd/orders.h"
#include "ops/softmax/softmax.h"
#include "simd/math64.h"

namespace loom {
namespace {

// to = (x / T - max) * factor. False when the row holds a NaN or its largest entry is infinite: then it has no distribution.
template <class T>
bool shifted(const T* x, T temperature, T factor, std::size_t n, T* to) {
  T largest = -std::numeric_limits<T>::infinity();
  bool usable = true;
  for (std::size_t i = 0; i < n; ++i) {
    to[i] = snap(x[i] / temperature);
    usable &= to[i] == to[i];
    largest = to[i] > largest ? to[i] : largest;
  }
  if (!usable || largest - largest != 0) return false;
  for (std::size_t i = 0; i < n; ++i) to[i] = snap(snap(to[i] - largest) * factor);
  return true;
}

template <class T>
T threshold_of_sparsemax(const T* sorted, std::size_t n) {
  T sum = 0, tau = 0;
  for (std::size_t i = 0; i < n; ++i) {
    sum = sum + sorted[i];
    const T candidate = snap(snap(sum - 1) / static_cast<T>(i + 1));
    if (!(sorted[i] > candidate)) break;
    tau = candidate;
  }
  return tau;
}

// tau = mean - sqrt((1 - n var) / n) over the largest n entries, the most of them that tau does not pass.
template <class T>
T threshold_of_entmax15(const T* sorted, std::size_t n) {
  T sum = 0, squares = 0, tau = 0;
  for (std::size_t i = 0; i < n; ++i) {
    sum = sum + sorted[i], squares = squares + sorted[i] * sorted[i];
    const auto count = static_cast<T>(i + 1);
    const T mean = snap(sum / count);
    const T rest = snap((1 - (squares - count * snap(mean * mean))) / count);
    const T candidate = mean - std::sqrt(rest > 0 ? rest : T{0});  // correctly rounded everywhere
    if (!(sorted[i] >= candidate)) break;
    tau = candidate;
  }
  return tau;
}

// p from z = (alpha - 1)(x - max), in f64.
void bisect(const double* z, double alpha, std::size_t n, double* p) {
  const double power = 1 / (alpha - 1);
  const auto fill = [&](double tau) {
    for (std::size_t i = 0; i < n; ++i) p[i] = z[i] > tau ? snap(pow64(z[i] - tau, power)) : 0.0;
    return lanes16<double>(n, [&](std::size_t i) { return p[i]; });
  };
  double low = -1, high = 0;
  for (int step = 0; step < 50; ++step) {
    const double tau = (low + high) / 2;
    (fill(tau) >= 1 ? low : high) = tau;
  }
  const double total = fill(low);
  for (std::size_t i = 0; i < n; ++i) p[i] = snap(p[i] / total);
}

template <class T>
void fill_nan(T* p, std::size_t n) {
  std::fill(p, p + n, std::numeric_limits<T>::quiet_NaN());
}

}  // namespace

void sparsemax(const Exec& exec, ConstTensor x, double temperature, Tensor p) {
  const ArenaScope scope(exec.arena);
  const Tensor scratch = exec.arena.tensor(x.rows, x.cols, x.element);
  with_element(x.element, [&]<class T>() {
    for_rows(exec, x.rows, x.cols * 8, [&](std::size_t r) {
      const std::size_t n = x.cols;
      T *to = p.row<T>(r), *sorted = scratch.row<T>(r);
      if (!shifted(x.row<T>(r), static_cast<T>(temperature), T{1}, n, to)) return fill_nan(to, n);
      std::copy(to, to + n, sorted);
      std::sort(sorted, sorted + n, [](T a, T b) { return a > b; });  // values only: ties have no order
      const T tau = threshold_of_sparsemax(sorted, n);
      for (std::size_t i = 0; i < n; ++i) to[i] = to[i] > tau ? snap(to[i] - tau) : T{0};
    });
  });
}

void sparsemax_backward(const Exec& exec, ConstTensor p, ConstTensor dy, double temperature, Tensor dx) {
  with_element(p.element, [&]<class T>() {
    for_rows(exec, p.rows, p.cols, [&](std::size_t r) {
      const T *probability = p.row<T>(r), *g = dy.row<T>(r);
      std::size_t support = 0;
      for (std::size_t i = 0; i < p.cols; ++i) support += probability[i] > 0;
      const T sum = lanes16<T>(p.cols, [&](std::size_t i) { return probability[i] > 0 ? g[i] : T{0}; });
      const T mean = snap(sum / static_cast<T>(support));
      for (std::size_t i = 0; i < p.cols; ++i)
        dx.row<T>(r)[i] = probability[i] > 0 ? snap(snap(g[i] - mean) / static_cast<T>(temperature)) : T{0};
    });
  });
}

void entmax(const Exec& exec, ConstTensor x, double temperature, double alpha, Tensor p) {
  const ArenaScope scope(exec.arena);
  const bool sorts = alpha == 1.5;
  const std::size_t n = x.cols;
  with_element(x.element, [&]<class T>() {
    T* const scratch = exec.arena.take<T>(sorts ? x.rows * n : 0);
    double* const wide = exec.arena.take<double>(sorts ? 0 : x.rows * n * 2);
    for_rows(exec, x.rows, n * (sorts ? 8 : 1024), [&](std::size_t r) {
      T* to = p.row<T>(r);
      if (!shifted(x.row<T>(r), static_cast<T>(temperature), static_cast<T>(alpha - 1), n, to)) return fill_nan(to, n);
      if (sorts) {
        T* sorted = scratch + r * n;
        std::copy(to, to + n, sorted);
        std::sort(sorted, sorted + n, [](T a, T b) { return a > b; });
        const T tau = threshold_of_entmax15(sorted, n);
        for (std::size_t i = 0; i < n; ++i) {
          const T root = to[i] > tau ? snap(to[i] - tau) : T{0};
          to[i] = snap(root * root);
        }
        return;
      }
      double *z = wide + 2 * r * n, *probability = z + n;
      for (std::size_t i = 0; i < n; ++i) z[i] = static_cast<double>(to[i]);
      bisect(z, alpha, n, probability);
      for (std::size_t i = 0; i < n; ++i) to[i] = snap(static_cast<T>(probability[i]));
    });
  });
}

void entmax_backward(const Exec& exec, ConstTensor p, ConstTensor dy, double temperature, double alpha, Tensor dx) {
  const ArenaScope scope(exec.arena);
  const Tensor scratch = exec.arena.tensor(p.rows, p.cols, p.element);
  with_element(p.element, [&]<class T>() {
    for_rows(exec, p.rows, p.cols * (alpha == 1.5 ? 4 : 64), [&](std::size_t r) {
      const std::size_t n = p.cols;
      const T *probability = p.row<T>(r), *g = dy.row<T>(r);
      T* const s = scratch.row<T>(r);
      for (std::size_t i = 0; i < n; ++i) {
        const T v = probability[i];
        s[i] = !(v > 0) ? T{0} : alpha == 1.5 ? std::sqrt(v) : snap(static_cast<T>(pow64(static_cast<double>(v), 2 - alpha)));
      }
      const T total = lanes16<T>(n, [&](std::size_t i) { return s[i]; });
      const T mean = snap(snap(lanes16<T>(n, [&](std::size_t i) { return s[i] * g[i]; })) / total);
      for (std::size_t i = 0; i < n; ++i) dx.row<T>(r)[i] = snap(snap(s[i] * snap(g[i] - mean)) / static_cast<T>(temperature));
    });
  });
}

}  // namespace loom
