#include "ops/gap/gap.h"

#include <algorithm>

#include "ops/all.h"
#include "ops/for_rows.h"
#include "simd/orders.h"

namespace loom {
namespace {

constexpr double kLeastWidth = 1e-3;

template <class T>
const GapKernels<T>& kernels(const Exec& exec) {
  return exec.kernels.gap.of<T>();
}

// f<T>(first, count) over pieces of the elements.
template <class F>
void each_gap_piece(const Exec& exec, Tensor y, F&& f) {
  with_element(y.element, [&]<class T>() { for_elements(exec, y.rows * y.cols, [&](std::size_t at, std::size_t n) { f.template operator()<T>(at, n); }); });
}

struct Range {
  double low, high;
};
Range range_of(const ActivationFn& fn) {
  constexpr double kFar = __builtin_huge_val();
  switch (fn.kind) {
    case Activation::Relu:
    case Activation::Relu2:
    case Activation::Softplus: return {0, kFar};
    case Activation::Sigmoid:
    case Activation::HardSigmoid: return {0, 1};
    case Activation::Tanh:
    case Activation::HardTanh:
    case Activation::Softsign: return {-1, 1};
    case Activation::Relu6: return {0, 6};
    case Activation::Elu: return {-fn.elu_alpha, kFar};
    default: return {-kFar, kFar};
  }
}

// f<T>(first, count) over pieces short enough that values in between stay in the first-level cache.
constexpr std::size_t kPiece = 256;
template <class F>
void each_short_piece(const Exec& exec, Tensor y, F&& f) {
  each_gap_piece(exec, y, [&]<class T>(std::size_t begin, std::size_t n) {
    for (std::size_t at = begin; at < begin + n; at += kPiece) f.template operator()<T>(at, std::min(kPiece, begin + n - at));
  });
}

double square_root(double x) { return __builtin_sqrt(x); }

}  // namespace

double secant_width(const Exec& exec, ConstTensor x, double step) {
  if (exec.rehearsal()) return 1;
  const std::size_t n = x.rows * x.cols;
  const double squares = with_element(x.element, [&]<class T>() { return kernels<T>(exec).squares(x.as<T>(), n, 0); });
  const double width = step * square_root(squares / static_cast<double>(n));
  return width > kLeastWidth ? width : kLeastWidth;  // not a number: the least
}

void secant_gap(const Exec& exec, const ActivationFn& fn, ConstTensor x, double h, ConstTensor e, Tensor out) {
  each_short_piece(exec, out, [&]<class T>(std::size_t at, std::size_t n) {
    alignas(64) T above[kPiece], below[kPiece];
    const auto step = static_cast<T>(h);
    const ElementwiseKernels<T>& activation = exec.kernels.elementwise.of<T>();
    kernels<T>(exec).ends(x.as<T>() + at, step, n, above, below);
    activation.activate(fn, above, n, above);
    activation.activate(fn, below, n, below);
    kernels<T>(exec).secant(above, below, step, e.as<T>() + at, n, out.as<T>() + at);
  });
}

void plain_gap(const Exec& exec, const ActivationFn& fn, ConstTensor x, ConstTensor e, Tensor out) {
  const Range range = range_of(fn);
  each_short_piece(exec, out, [&]<class T>(std::size_t at, std::size_t n) {
    alignas(64) T y[kPiece], slope[kPiece];
    const ElementwiseKernels<T>& activation = exec.kernels.elementwise.of<T>();
    std::fill_n(slope, n, T{1});
    activation.activate_backward(fn, x.as<T>() + at, slope, n, slope);
    activation.activate(fn, x.as<T>() + at, n, y);
    kernels<T>(exec).plain(static_cast<T>(range.low), static_cast<T>(range.high), y, slope, e.as<T>() + at, n, out.as<T>() + at);
  });
}

void signed_gap(const Exec& exec, ConstTensor x, ConstTensor e, Tensor y) {
  each_gap_piece(exec, y, [&]<class T>(std::size_t at, std::size_t n) { kernels<T>(exec).with_sign(x.as<T>() + at, e.as<T>() + at, n, y.as<T>() + at); });
}

void add_size_of_columns(const Exec& exec, ConstTensor w, void* sums) {
  constexpr std::size_t kTile = 64;
  with_element(w.element, [&]<class T>() {
    for_ranges(exec, (w.cols + kTile - 1) / kTile, w.rows * kTile, [&](std::size_t begin, std::size_t end) {
      const std::size_t first = begin * kTile, last = end * kTile < w.cols ? end * kTile : w.cols;
      kernels<T>(exec).sizes(w.as<T>() + first, w.cols, w.rows, last - first, static_cast<T*>(sums) + first);
    });
  });
}

void close_gap(const Exec& exec, const void* sums, double threshold, bool divide, ConstTensor base, Tensor d) {
  with_element(d.element, [&]<class T>() {
    for_rows(exec, d.rows, d.cols, [&](std::size_t r) {
      kernels<T>(exec).close(static_cast<const T*>(sums), static_cast<T>(threshold), divide, base.data == nullptr ? nullptr : base.row<T>(r), d.cols,
                             d.row<T>(r));
    });
  });
}

void clamp(const Exec& exec, double limit, Tensor d) {
  each_gap_piece(exec, d, [&]<class T>(std::size_t at, std::size_t n) { kernels<T>(exec).clamp(static_cast<T>(limit), n, d.as<T>() + at); });
}

void simplex_gap(const Exec& exec, ConstTensor p, ConstTensor e, std::span<const SoftmaxRun> runs, Tensor out) {
  with_element(p.element, [&]<class T>() {
    for_rows(exec, p.rows, p.cols, [&](std::size_t r) {
      for (const SoftmaxRun& run : runs)
        for (std::size_t k = 0; k < run.count; ++k) {
          const std::size_t first = run.first + k * run.width;
          const T *from = p.row<T>(r) + first, *gap = e.row<T>(r) + first;
          T* const to = out.row<T>(r) + first;
          for (std::size_t i = 0; i < run.width; ++i) {
            const T t = from[i] + gap[i];
            to[i] = t > 0 ? t : gap[i] != gap[i] ? gap[i] : T{0};
          }
          const double wanted = kernels<T>(exec).sum(to, run.width), given = kernels<T>(exec).sum(from, run.width);
          const double factor = wanted > 0 ? snap(given / wanted) : 0;
          for (std::size_t i = 0; i < run.width; ++i)
            to[i] = wanted > 0 ? static_cast<T>(snap(static_cast<double>(to[i]) * factor) - static_cast<double>(from[i])) : T{0};
          kernels<T>(exec).clamp(static_cast<T>(2), run.width, to);  // snaps
        }
    });
  });
}

void norm_gap(const Exec& exec, const NormGap& norm, ConstTensor x, const void* gamma, ConstTensor e, Tensor out) {
  const auto [samples, channels, positions] = norm.shape;
  const std::size_t parts = norm.deviation != nullptr ? 1 : norm.groups, width = channels / parts, size = width * positions;
  with_element(x.element, [&]<class T>() {
    for_rows(exec, samples * parts, size, [&](std::size_t i) {
      const std::size_t first = i % parts * width;
      const T *from = x.as<T>() + i * size, *gap = e.as<T>() + i * size, *gains = static_cast<const T*>(gamma) + first;
      T* const to = out.as<T>() + i * size;
      double s = 0;
      if (norm.deviation == nullptr) {
        const auto n = static_cast<double>(size);
        const double mean = norm.centred ? snap(kernels<T>(exec).sum(from, size) / n) : 0;
        s = square_root(kernels<T>(exec).squares(from, size, mean) / n + norm.eps);
      }
      for (std::size_t c = 0; c < width; ++c) {
        const double own = norm.deviation == nullptr ? s : static_cast<double>(static_cast<const T*>(norm.deviation)[c]);
        const auto gain = static_cast<double>(gains[c]);
        const T factor = gain > norm.threshold || gain < -norm.threshold ? static_cast<T>(own / gain) : T{0};
        for (std::size_t k = c * positions; k < (c + 1) * positions; ++k) to[k] = gap[k] * factor;
      }
      kernels<T>(exec).clamp(static_cast<T>(__builtin_huge_val()), size, to);  // snaps
    });
  });
}

void direction_gap(const Exec& exec, ConstTensor e, ConstTensor b, ConstTensor y, std::size_t branch, Tensor q) {
  const std::size_t n = y.rows * y.cols / q.rows;
  with_element(q.element, [&]<class T>() {
    for_rows(exec, q.rows, n, [&](std::size_t g) {
      const auto c = static_cast<T>(kernels<T>(exec).cosine(e.as<T>() + g * n, b.as<T>() + g * n, y.as<T>() + g * n, n));
      q.row<T>(g)[branch] = c;
      kernels<T>(exec).clamp(T{1}, 1, q.row<T>(g) + branch);  // snaps
    });
  });
}

double mean_of_column(const Exec& exec, ConstTensor p, std::size_t i) {
  if (exec.rehearsal()) return 1;
  double sum = 0;
  with_element(p.element, [&]<class T>() {
    for (std::size_t r = 0; r < p.rows; ++r) sum += static_cast<double>(p.row<T>(r)[i]);
  });
  return sum / static_cast<double>(p.rows);
}

double Agreement::budget() const {
  if (size_a == 0 && size_t_ == 0) return 1;
  if (size_a == 0 || size_t_ == 0) return 0.5;
  const double c = dot / (square_root(size_a) * square_root(size_t_));
  return (c < -1 ? 0 : c > 1 ? 2 : c + 1) / 2;
}

Agreement agreement(const Exec& exec, ConstTensor a, ConstTensor e, double factor, double limit) {
  if (exec.rehearsal()) return {};
  return with_element(a.element, [&]<class T>() { return kernels<T>(exec).agreement(a.as<T>(), e.as<T>(), a.rows * a.cols, factor, limit); });
}

}  // namespace loom
