// Gradients of reductions and of distributions along an axis. Equal extremes share a gradient, as in PyTorch's amax.

#include <algorithm>

#include "graph/gradient_ops.h"
#include "graph/reducing.h"
#include "ops/softmax/softmax.h"
#include "simd/math64.h"

namespace loom::graph {
namespace {

// The elements that one output is made of, as far as derivatives ask for them.
struct Whole {
  double y = 0;
  std::size_t n = 0, equal = 0, zeros = 0;  // elements; equal to y; 0
  double others = 1;                        // the product of those that are not 0
};

// dx = dy * f(x, whole). `looks` says whether f needs more than y and n.
template <class F>
Result<void> by_element(Op& op, bool looks, F&& f) {
  const Backward b(op);
  Op forward = b.forward();
  LOOM_TRY(const auto axes, forward.ints_of(1, "axes"));
  LOOM_TRY(Reduction r, reduction_of(forward, axes, op.integer("keepdims", 1) != 0));
  LOOM_TRY(Value* const dx, b.dx(0));
  if (op.measures()) return {};
  if (axes.empty() && op.integer("noop_with_empty_axes", 0) != 0) std::swap(r.kept, r.reduced);
  with_floats(*dx, [&]<class T>(T) {
    for_rows(op.exec, r.kept.size(), r.reduced.size(), [&](std::size_t i) {
      const T* const x = b.x(0).as<T>() + r.kept[i];
      const auto dy = static_cast<double>(b.dy().as<T>()[i]);
      Whole whole{static_cast<double>(b.y().as<T>()[i]), r.reduced.size()};
      for (std::size_t k = 0; looks && k < r.reduced.size(); ++k) {
        const auto v = static_cast<double>(x[r.reduced[k]]);
        whole.equal += v == whole.y ? 1 : 0;
        if (v == 0)
          ++whole.zeros;
        else
          whole.others *= v;
      }
      for (const std::size_t at : r.reduced)
        dx->as<T>()[r.kept[i] + at] = snap(stored<T>(dy * f(static_cast<double>(x[at]), whole)));
    });
  });
  round_to_type(*dx);
  return {};
}

double product_slope(double x, const Whole& w) {
  if (w.zeros == 0) return w.others / x;
  return w.zeros == 1 && x == 0 ? w.others : 0;
}

Result<void> extreme_share(Op& op) {
  return by_element(op, true,
                    [](double x, const Whole& w) { return x == w.y ? 1 / static_cast<double>(w.equal) : 0.0; });
}

// Softmax: dx = y (dy - sum of dy y); LogSoftmax: dx = dy - exp(y) sum of dy.
Result<void> distribution_gradient(Op& op) {
  const Backward b(op);
  const bool is_log = b.name() == "LogSoftmax";
  LOOM_TRY(const Lines l, lines_of(b.forward()));
  LOOM_TRY(Value* const dx, b.dx(0));
  if (l.lines == 0) return {};
  if (!is_log && l.inner == 1) {
    const std::array<SoftmaxRun, 1> runs{SoftmaxRun{0, l.n, 1}};
    softmax_backward(op.exec, tensor_of(b.y(), l.n), tensor_of(b.dy(), l.n), 1.0, runs, tensor_of(*dx, l.n));
    if (!op.measures()) round_to_type(*dx);
    return {};
  }
  if (op.measures()) return {};
  with_floats(*dx, [&]<class T>(T) {
    for_rows(op.exec, l.lines, l.n * 16, [&](std::size_t line) {
      const std::size_t first = l.first(line);
      const T *const y = b.y().as<T>() + first, *const dy = b.dy().as<T>() + first;
      double sum = 0;
      for (std::size_t i = 0; i < l.n * l.inner; i += l.inner)
        sum += static_cast<double>(dy[i]) * (is_log ? 1.0 : static_cast<double>(y[i]));
      for (std::size_t i = 0; i < l.n * l.inner; i += l.inner) {
        const auto p = static_cast<double>(y[i]), g = static_cast<double>(dy[i]);
        dx->as<T>()[first + i] = snap(stored<T>(is_log ? g - exp64(p) * sum : p * (g - sum)));
      }
    });
  });
  round_to_type(*dx);
  return {};
}

}  // namespace

std::span<const GradientRow> reducing_gradients() {
  static constexpr std::array kRows{
      GradientRow{"ReduceSum", [](Op& op) { return by_element(op, false, [](double, const Whole&) { return 1.0; }); },
                  1},
      GradientRow{"ReduceMean",
                  [](Op& op) {
                    return by_element(op, false, [](double, const Whole& w) { return 1 / static_cast<double>(w.n); });
                  },
                  1},
      GradientRow{"ReduceProd", [](Op& op) { return by_element(op, true, product_slope); }, 1},
      GradientRow{"ReduceMax", extreme_share, 1},
      GradientRow{"ReduceMin", extreme_share, 1},
      GradientRow{"ReduceL1",
                  [](Op& op) {
                    return by_element(op, false, [](double x, const Whole&) {
                      return x > 0 ? 1.0 : x < 0 ? -1.0 : 0.0;
                    });
                  },
                  1},
      GradientRow{"ReduceL2",
                  [](Op& op) {
                    return by_element(op, false, [](double x, const Whole& w) { return w.y == 0 ? 0.0 : x / w.y; });
                  },
                  1},
      GradientRow{"ReduceSumSquare",
                  [](Op& op) { return by_element(op, false, [](double x, const Whole&) { return 2 * x; }); }, 1},
      GradientRow{"ReduceLogSum",
                  [](Op& op) { return by_element(op, false, [](double, const Whole& w) { return exp64(-w.y); }); }, 1},
      GradientRow{"ReduceLogSumExp",
                  [](Op& op) { return by_element(op, false, [](double x, const Whole& w) { return exp64(x - w.y); }); },
                  1},
      GradientRow{"Softmax", distribution_gradient},
      GradientRow{"LogSoftmax", distribution_gradient},
  };
  return kRows;
}

}  // namespace loom::graph
