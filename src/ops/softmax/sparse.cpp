// Sparsemax and entmax: a threshold tau per row, found in the sorted row or by bisection.

#include <algorithm>
#include <cmath>

#include "ops/all.h"
#include "ops/for_rows.h"
#include "simd/orders.h"
#include "ops/softmax/softmax.h"

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
  const Tensor scratch = exec.arena.tensor(x.rows, n, x.element);
  with_element(x.element, [&]<class T>() {
    for_rows(exec, x.rows, n * (sorts ? 8 : 1024), [&](std::size_t r) {
      T *const to = p.row<T>(r), *const z = scratch.row<T>(r);
      if (!shifted(x.row<T>(r), static_cast<T>(temperature), static_cast<T>(alpha - 1), n, to)) return fill_nan(to, n);
      std::copy(to, to + n, z);
      if (!sorts) return exec.kernels.softmax.of<T>().bisect(z, static_cast<T>(1 / (alpha - 1)), n, to);
      std::sort(z, z + n, [](T a, T b) { return a > b; });
      const T tau = threshold_of_entmax15(z, n);
      for (std::size_t i = 0; i < n; ++i) {
        const T root = to[i] > tau ? snap(to[i] - tau) : T{0};
        to[i] = snap(root * root);
      }
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
      if (alpha == 1.5)
        for (std::size_t i = 0; i < n; ++i) s[i] = probability[i] > 0 ? std::sqrt(probability[i]) : T{0};
      else
        exec.kernels.softmax.of<T>().powers(probability, static_cast<T>(2 - alpha), n, s);
      const T total = lanes16<T>(n, [&](std::size_t i) { return s[i]; });
      const T mean = snap(snap(lanes16<T>(n, [&](std::size_t i) { return s[i] * g[i]; })) / total);
      for (std::size_t i = 0; i < n; ++i) dx.row<T>(r)[i] = snap(snap(s[i] * snap(g[i] - mean)) / static_cast<T>(temperature));
    });
  });
}

}  // namespace loom
