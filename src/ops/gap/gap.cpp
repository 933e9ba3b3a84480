#include "ops/gap/gap.h"

#include <algorithm>

#include "ops/all.h"
#include "ops/dispatch.h"
#include "ops/for_rows.h"
#include "ops/gap/gap_gpu.h"
#include "ops/sums/sums.h"

namespace loom {
namespace {

template <class T>
const GapKernels<T>& kernels(const Exec& exec) {
  return exec.kernels.gap.of<T>();
}

// f<T>(first, count) over pieces of the elements.
template <class F>
void each_gap_piece(const Exec& exec, Tensor y, F&& f) {
  with_element(y.element, [&]<class T>() {
    for_elements(exec, y.rows * y.cols, [&](std::size_t at, std::size_t n) { f.template operator()<T>(at, n); });
  });
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
    for (std::size_t at = begin; at < begin + n; at += kPiece)
      f.template operator()<T>(at, std::min(kPiece, begin + n - at));
  });
}

}  // namespace

void secant_width(const Exec& exec, ConstTensor x, double step, Tensor width) {
  for (const Exec& host : dispatch(exec, [&] { gpu::secant_width(exec, x, step, width); })) {
    const ArenaScope scope(host.arena);
    const std::size_t n = x.rows * x.cols;
    with_element(x.element, [&]<class T>() {
      T* const squares = host.arena.take<T>(1);
      sum_blocks(host, n, 1, squares, [&](std::size_t first, std::size_t count, T* lanes) {
        kernels<T>(host).squares(x.as<T>() + first, count, lanes);
      });
      if (host.computes()) kernels<T>(host).width(squares, n, static_cast<T>(step), width.as<T>());
    });
  }
}

void secant_gap(const Exec& exec, const ActivationFn& fn, ConstTensor x, ConstTensor width, ConstTensor e, Tensor out) {
  for (const Exec& host : dispatch(exec, [&] { gpu::secant_gap(exec, fn, x, width, e, out); }))
    each_short_piece(host, out, [&]<class T>(std::size_t at, std::size_t n) {
      alignas(64) T above[kPiece], below[kPiece];
      const ElementwiseKernels<T>& activation = host.kernels.elementwise.of<T>();
      kernels<T>(host).ends(x.as<T>() + at, width.as<T>(), n, above, below);
      activation.activate(fn, above, n, above);
      activation.activate(fn, below, n, below);
      kernels<T>(host).secant(above, below, width.as<T>(), e.as<T>() + at, n, out.as<T>() + at);
    });
}

void plain_gap(const Exec& exec, const ActivationFn& fn, ConstTensor x, ConstTensor e, Tensor out) {
  const Range range = range_of(fn);
  for (const Exec& host : dispatch(exec, [&] { gpu::plain_gap(exec, fn, range.low, range.high, x, e, out); }))
    each_short_piece(host, out, [&]<class T>(std::size_t at, std::size_t n) {
      alignas(64) T y[kPiece], slope[kPiece];
      const ElementwiseKernels<T>& activation = host.kernels.elementwise.of<T>();
      activation.fill(T{1}, n, slope);
      activation.activate_backward(fn, x.as<T>() + at, slope, n, slope);
      activation.activate(fn, x.as<T>() + at, n, y);
      kernels<T>(host).plain(static_cast<T>(range.low), static_cast<T>(range.high), y, slope, e.as<T>() + at, n,
                             out.as<T>() + at);
    });
}

void signed_gap(const Exec& exec, ConstTensor x, ConstTensor e, Tensor y) {
  for (const Exec& host : dispatch(exec, [&] { gpu::signed_gap(exec, x, e, y); }))
    each_gap_piece(host, y, [&]<class T>(std::size_t at, std::size_t n) {
      kernels<T>(host).with_sign(x.as<T>() + at, e.as<T>() + at, n, y.as<T>() + at);
    });
}

void add_size_of_columns(const Exec& exec, ConstTensor w, void* sums) {
  for (const Exec& host : dispatch(exec, [&] { gpu::add_size_of_columns(exec, w, sums); })) {
    constexpr std::size_t kTile = 64;
    with_element(w.element, [&]<class T>() {
      for_ranges(host, (w.cols + kTile - 1) / kTile, w.rows * kTile, [&](std::size_t begin, std::size_t end) {
        const std::size_t first = begin * kTile, last = end * kTile < w.cols ? end * kTile : w.cols;
        kernels<T>(host).sizes(w.as<T>() + first, w.cols, w.rows, last - first, static_cast<T*>(sums) + first);
      });
    });
  }
}

void close_gap(const Exec& exec, const void* sums, double threshold, bool divide, ConstTensor base, Tensor d) {
  for (const Exec& host : dispatch(exec, [&] { gpu::close_gap(exec, sums, threshold, divide, base, d); }))
    with_element(d.element, [&]<class T>() {
      for_rows(host, d.rows, d.cols, [&](std::size_t r) {
        kernels<T>(host).close(static_cast<const T*>(sums), static_cast<T>(threshold), divide,
                               base.data == nullptr ? nullptr : base.row<T>(r), d.cols, d.row<T>(r));
      });
    });
}

void clamp(const Exec& exec, double limit, Tensor d, ConstTensor failed) {
  for (const Exec& host : dispatch(exec, [&] { gpu::clamp(exec, limit, d, failed); }))
    each_gap_piece(host, d, [&]<class T>(std::size_t at, std::size_t n) {
      kernels<T>(host).clamp(static_cast<T>(limit), failed.as<float>(), n, d.as<T>() + at);
    });
}

void simplex_gap(const Exec& exec, ConstTensor p, ConstTensor e, std::span<const SoftmaxRun> runs, Tensor out) {
  for (const Exec& host : dispatch(exec, [&] { gpu::simplex_gap(exec, p, e, runs, out); }))
    with_element(p.element, [&]<class T>() {
      for_rows(host, p.rows, p.cols, [&](std::size_t r) {
        for (const SoftmaxRun& run : runs)
          for (std::size_t k = 0; k < run.count; ++k) {
            const std::size_t first = run.first + k * run.width;
            kernels<T>(host).simplex(p.row<T>(r) + first, e.row<T>(r) + first, run.width, out.row<T>(r) + first);
          }
      });
    });
}

void norm_gap(const Exec& exec, const NormGap& norm, ConstTensor x, const void* gamma, ConstTensor e, Tensor out) {
  for (const Exec& host : dispatch(exec, [&] { gpu::norm_gap(exec, norm, x, gamma, e, out); })) {
    const auto [samples, channels, positions] = norm.shape;
    const std::size_t parts = norm.deviation != nullptr ? 1 : norm.groups, width = channels / parts,
                      size = width * positions;
    with_element(x.element, [&]<class T>() {
      for_rows(host, samples * parts, size, [&](std::size_t i) {
        kernels<T>(host).norm({.x = x.as<T>() + i * size,
                               .gamma = static_cast<const T*>(gamma) + i % parts * width,
                               .deviation = static_cast<const T*>(norm.deviation),
                               .e = e.as<T>() + i * size,
                               .out = out.as<T>() + i * size,
                               .width = width,
                               .positions = positions,
                               .eps = static_cast<T>(norm.eps),
                               .threshold = static_cast<T>(norm.threshold),
                               .centred = norm.centred});
      });
    });
  }
}

void direction_gap(const Exec& exec, ConstTensor e, ConstTensor b, ConstTensor y, std::size_t branch, Tensor q) {
  for (const Exec& host : dispatch(exec, [&] { gpu::direction_gap(exec, e, b, y, branch, q); })) {
    const std::size_t n = y.rows * y.cols / q.rows;
    with_element(q.element, [&]<class T>() {
      for_rows(host, q.rows, n, [&](std::size_t g) {
        kernels<T>(host).cosine(e.as<T>() + g * n, b.as<T>() + g * n, y.as<T>() + g * n, n, q.row<T>(g) + branch);
      });
    });
  }
}

void mean_of_column(const Exec& exec, ConstTensor p, std::size_t i, ConstTensor factor, Tensor mean) {
  for (const Exec& host : dispatch(exec, [&] { gpu::mean_of_column(exec, p, i, factor, mean); })) {
    if (!host.computes()) return;
    with_element(p.element, [&]<class T>() {
      kernels<T>(host).column_mean(p.as<T>() + i, p.rows, p.cols, factor.as<T>(), mean.as<T>());
    });
  }
}

void gap_figures(const Exec& exec, ConstTensor a, ConstTensor e, const Aim& aim, Tensor figures, Tensor failed) {
  for (const Exec& host : dispatch(exec, [&] { gpu::gap_figures(exec, a, e, aim, figures, failed); })) {
    const ArenaScope scope(host.arena);
    const std::size_t n = a.rows * a.cols;
    with_element(a.element, [&]<class T>() {
      constexpr std::size_t kSums = 4;
      T* const sums = host.arena.take<T>(kSums);
      sum_blocks(host, n, kSums, sums, [&](std::size_t first, std::size_t count, T* lanes) {
        kernels<T>(host).agreement(a.as<T>() + first, e.as<T>() + first, count, static_cast<T>(aim.factor),
                                   static_cast<T>(aim.limit), lanes);
      });
      if (host.computes())
        kernels<T>(host).figures(sums, n, static_cast<T>(aim.threshold), figures.as<T>(), failed.as<float>());
    });
  }
}

}  // namespace loom
