// Sums, means, norms and extremes along axes, and distributions along one. Floats are summed in f64, in one chain over
// the reduced elements in order, and rounded once.

#include <algorithm>
#include <array>

#include "graph/reducing.h"
#include "ops/fold/fold.h"
#include "ops/for_rows.h"
#include "ops/softmax/softmax.h"
#include "simd/math64.h"

namespace loom::graph {
namespace {

std::vector<std::size_t> offsets_of(const Dims& dims, const std::vector<std::size_t>& strides) {
  std::vector<std::size_t> offsets(count(dims));
  walk(dims, strides, [&](std::size_t i, std::size_t at) { offsets[i] = at; });
  return offsets;
}

}  // namespace

Result<Reduction> reduction_of(Op& op, std::span<const std::int64_t> axes, bool keeps) {
  const Value& x = op.in(0);
  std::vector<bool> goes(x.rank(), axes.empty());
  for (const std::int64_t a : axes) {
    LOOM_TRY(const std::size_t axis, op.axis(a, x.rank()));
    goes[axis] = true;
  }
  const auto own = row_major_strides(x.dims);
  Reduction r;
  for (std::size_t i = 0; i < x.rank(); ++i) {
    if (keeps || !goes[i]) r.dims.push_back(goes[i] ? 1 : x.dims[i]);
    (goes[i] ? r.reduced_dims : r.kept_dims).push_back(x.dims[i]);
    (goes[i] ? r.reduced_strides : r.kept_strides).push_back(own[i]);
  }
  if (op.measures() || op.is_on_card()) return r;
  r.kept = offsets_of(r.kept_dims, r.kept_strides);
  r.reduced = offsets_of(r.reduced_dims, r.reduced_strides);
  return r;
}

namespace {

// Axes that are walked through as one are one.
void merge(Dims& dims, std::vector<std::size_t>& strides) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 1) continue;
    const bool joins = n != 0 && strides[n - 1] == strides[i] * dims[i];
    if (!joins) ++n;
    dims[n - 1] = joins ? dims[n - 1] * dims[i] : dims[i], strides[n - 1] = strides[i];
  }
  dims.resize(n), strides.resize(n);
}

void fold_on_card(Op& op, Fold how, Reduction r, const Value& y) {
  if (count(r.reduced_dims) <= kMostFolded) op.has_form(1);
  if (!op.is_on_card() || op.form == 0) return;
  merge(r.kept_dims, r.kept_strides), merge(r.reduced_dims, r.reduced_strides);
  fold(op.exec, how, op.in(0).as<float>(), {r.kept_dims, r.kept_strides}, {r.reduced_dims, r.reduced_strides},
       y.as<float>());
}

// Returns the length of the runs in which offsets follow each other by one; all runs have that length.
std::size_t side_by_side(const std::vector<std::size_t>& offsets) {
  std::size_t n = 1;
  while (n < offsets.size() && offsets[n] == offsets[0] + n) ++n;
  return offsets.size() % n == 0 ? n : 1;
}

// The initial value of a fold of floats or of whole numbers, for which the least and the greatest one stand for
// infinities.
template <class A, class Start>
A first_total(Start start, Type type) {
  if constexpr (std::is_integral_v<A>) {
    const auto given = static_cast<double>(start);
    if (given == -__builtin_huge_val() || given == __builtin_huge_val()) {
      if (type == Type::boolean) return given < 0 ? 0 : 1;
      return given < 0 ? std::numeric_limits<A>::min() : std::numeric_limits<A>::max();
    }
  }
  return static_cast<A>(start);
}

// y = finish(fold of f over the elements, how many). Whole numbers are summed as such.
template <class Start, class F, class Finish>
Result<void> reduce(Op& op, Start start, F&& f, Finish&& finish, std::optional<Fold> how = {}) {
  const Value& x = op.in(0);
  LOOM_TRY(const auto axes, op.ints_of(1, "axes"));
  if (axes.empty() && op.integer("noop_with_empty_axes", 0) != 0) {
    LOOM_TRY(Value* const y, op.out_like(0, x));
    if (op.measures()) return {};
    with_store(store_of(x.type), [&]<class T>(T) {
      using A = std::conditional_t<std::is_integral_v<T>, std::int64_t, double>;
      for (std::size_t i = 0; i < x.elements(); ++i)
        y->as<T>()[i] =
            snap(stored<T>(finish(f(first_total<A>(start, x.type), static_cast<A>(x.as<T>()[i])), std::size_t{1})));
    });
    round_to_type(*y);
    return {};
  }
  LOOM_TRY(const Reduction r, reduction_of(op, axes, op.integer("keepdims", 1) != 0));
  LOOM_TRY(Value* const y, op.out(0, x.type, r.dims));
  if (how) fold_on_card(op, *how, r, *y);
  if (op.measures() || op.is_on_card()) return {};
  with_store(store_of(x.type), [&]<class T>(T) {
    using A = std::conditional_t<std::is_integral_v<T>, std::int64_t, double>;
    // Kept elements that are adjacent in memory go through the reduced ones together.
    const std::size_t side = side_by_side(r.kept);
    if (side > 1) {
      constexpr std::size_t kTogether = 64;
      const std::size_t parts = (side + kTogether - 1) / kTogether;
      for_rows(op.exec, r.kept.size() / side * parts, r.reduced.size() * kTogether, [&](std::size_t part) {
        const std::size_t first = part / parts * side + part % parts * kTogether;
        const std::size_t n = std::min(kTogether, side - part % parts * kTogether);
        std::array<A, kTogether> totals;
        totals.fill(first_total<A>(start, x.type));
        for (const std::size_t at : r.reduced)
          for (std::size_t i = 0; i < n; ++i)
            totals[i] = f(totals[i], static_cast<A>(x.as<T>()[r.kept[first] + at + i]));
        for (std::size_t i = 0; i < n; ++i)
          y->as<T>()[first + i] = snap(stored<T>(finish(totals[i], r.reduced.size())));
      });
      return;
    }
    for_rows(op.exec, r.kept.size(), r.reduced.size(), [&](std::size_t i) {
      A total = first_total<A>(start, x.type);
      const T* const from = x.as<T>() + r.kept[i];
      for (const std::size_t at : r.reduced) total = f(total, static_cast<A>(from[at]));
      y->as<T>()[i] = snap(stored<T>(finish(total, r.reduced.size())));
    });
  });
  round_to_type(*y);
  return {};
}

constexpr auto kAsIs = [](auto total, std::size_t) { return total; };
constexpr auto kSum = [](auto a, auto b) { return plus(a, b); };

Result<void> reduce_sum(Op& op) { return reduce(op, 0.0, kSum, kAsIs, Fold::Sum); }
Result<void> reduce_mean(Op& op) {
  return reduce(
      op, 0.0, kSum, [](auto total, std::size_t n) { return n == 0 ? total : total / static_cast<decltype(total)>(n); },
      Fold::Mean);
}
Result<void> reduce_product(Op& op) {
  return reduce(op, 1.0, [](auto a, auto b) { return times(a, b); }, kAsIs);
}
Result<void> reduce_max(Op& op) {
  return reduce(
      op, -__builtin_huge_val(), [](auto a, auto b) { return a != a            ? a
                                                             : b != b || b > a ? b
                                                                               : a; }, kAsIs,
      Fold::Largest);
}
Result<void> reduce_min(Op& op) {
  return reduce(
      op, __builtin_huge_val(), [](auto a, auto b) { return a != a            ? a
                                                            : b != b || b < a ? b
                                                                              : a; }, kAsIs,
      Fold::Smallest);
}
Result<void> reduce_l1(Op& op) {
  return reduce(
      op, 0.0, [](auto a, auto b) { return plus(a, b < 0 ? times(b, decltype(b){-1}) : b); }, kAsIs, Fold::SumOfSizes);
}
Result<void> reduce_l2(Op& op) {
  return reduce(
      op, 0.0, [](auto a, auto b) { return plus(a, times(b, b)); },
      [](auto total, std::size_t) { return stored<decltype(total)>(__builtin_sqrt(static_cast<double>(total))); });
}
Result<void> reduce_sum_square(Op& op) {
  return reduce(op, 0.0, [](auto a, auto b) { return plus(a, times(b, b)); }, kAsIs, Fold::SumOfSquares);
}
Result<void> reduce_log_sum(Op& op) {
  return reduce(op, 0.0, kSum,
                [](auto total, std::size_t) { return stored<decltype(total)>(log64(static_cast<double>(total))); });
}
// log(sum(exp(x))) of elements at these offsets, in one chain in f64. Where exp() would leave the range of f64 the
// largest element is subtracted first and added to the logarithm; elsewhere nothing is.
template <class T>
double log_sum_exp(const T* x, std::span<const std::size_t> offsets) {
  constexpr double kSafe = 600;  // exp(600) times 2^64 elements is finite, exp(-600) is normal
  double most = -__builtin_huge_val(), sum = 0;
  for (const std::size_t at : offsets) most = std::max(most, static_cast<double>(x[at]));
  const bool is_finite = most - most == 0;
  const double shift = is_finite && (most > kSafe || most < -kSafe) ? most : 0;
  for (const std::size_t at : offsets) sum += exp64(static_cast<double>(x[at]) - shift);
  return log64(sum) + shift;
}

Result<void> reduce_log_sum_exp(Op& op) {
  const Value& x = op.in(0);
  LOOM_TRY(const auto axes, op.ints_of(1, "axes"));
  const bool is_noop = axes.empty() && op.integer("noop_with_empty_axes", 0) != 0;
  LOOM_TRY(Reduction r, reduction_of(op, axes, op.integer("keepdims", 1) != 0));
  LOOM_TRY(Value* const y, op.out(0, x.type, is_noop ? x.dims : r.dims));
  if (op.measures()) return {};
  if (is_noop) std::swap(r.kept, r.reduced);  // every element is a sum of one
  with_store(store_of(x.type), [&]<class T>(T) {
    for_rows(op.exec, r.kept.size(), r.reduced.size() * 16,
             [&](std::size_t i) { y->as<T>()[i] = snap(stored<T>(log_sum_exp(x.as<T>() + r.kept[i], r.reduced))); });
  });
  round_to_type(*y);
  return {};
}

Result<void> arg(Op& op, bool largest) {
  const Value& x = op.in(0);
  const std::array<std::int64_t, 1> axes{op.integer("axis", 0)};
  const bool last = op.integer("select_last_index", 0) != 0;
  LOOM_TRY(const Reduction r, reduction_of(op, axes, op.integer("keepdims", 1) != 0));
  LOOM_TRY(Value* const y, op.out(0, Type::i64, r.dims));
  if (op.measures()) return {};
  with_store(store_of(x.type), [&]<class T>(T) {
    for (std::size_t i = 0; i < r.kept.size(); ++i) {
      const T* const from = x.as<T>() + r.kept[i];
      std::size_t best = 0;
      for (std::size_t k = 1; k < r.reduced.size(); ++k) {
        const T a = from[r.reduced[best]], b = from[r.reduced[k]];
        if ((largest ? b > a : b < a) || (last && a == b)) best = k;
      }
      y->as<std::int64_t>()[i] = static_cast<std::int64_t>(best);
    }
  });
  return {};
}
Result<void> arg_max(Op& op) { return arg(op, true); }
Result<void> arg_min(Op& op) { return arg(op, false); }

}  // namespace

Result<Lines> lines_of(const Op& op) {
  const Value& x = op.in(0);
  LOOM_TRY(const std::size_t axis,
           op.axis(op.integer("axis", op.opset < 13 ? 1 : -1), std::max<std::size_t>(x.rank(), 1)));
  Lines lines;
  if (x.rank() == 0) return Lines{1, 1, 1};
  lines.n = op.opset < 13 ? count(std::span(x.dims).subspan(axis)) : x.dims[axis];
  lines.inner = op.opset < 13 ? 1 : count(std::span(x.dims).subspan(axis + 1));
  lines.lines = lines.n == 0 ? 0 : x.elements() / lines.n;
  return lines;
}

namespace {

Result<void> softmax_op(Op& op) {
  const Value& x = op.in(0);
  if (!is_float(x.type)) return op.refuse(Code::Unsupported, "of {}", name_of(x.type));
  LOOM_TRY(const Lines l, lines_of(op));
  LOOM_TRY(Value* const y, op.out_like(0, x));
  if (l.lines == 0) return {};
  if (l.inner == 1) {
    op.has_form(1);
    const std::array<SoftmaxRun, 1> runs{SoftmaxRun{0, l.n, 1}};
    softmax(op.exec, tensor_of(x, l.n), 1.0, runs, tensor_of(*y, l.n));
  } else if (!op.measures()) {
    with_store(store_of(x.type), [&]<class T>(T) {
      for_rows(op.exec, l.lines, l.n * 16, [&](std::size_t line) {
        const T* const from = x.as<T>() + l.first(line);
        T* const to = y->as<T>() + l.first(line);
        double most = -__builtin_huge_val(), sum = 0;
        for (std::size_t i = 0; i < l.n; ++i) most = std::max(most, static_cast<double>(from[i * l.inner]));
        for (std::size_t i = 0; i < l.n; ++i) sum += exp64(static_cast<double>(from[i * l.inner]) - most);
        for (std::size_t i = 0; i < l.n; ++i)
          to[i * l.inner] = snap(stored<T>(exp64(static_cast<double>(from[i * l.inner]) - most) / sum));
      });
    });
  }
  if (!op.measures()) round_to_type(*y);
  return {};
}

Result<void> log_softmax(Op& op) {
  const Value& x = op.in(0);
  if (!is_float(x.type)) return op.refuse(Code::Unsupported, "of {}", name_of(x.type));
  LOOM_TRY(const Lines l, lines_of(op));
  LOOM_TRY(Value* const y, op.out_like(0, x));
  if (op.measures()) return {};
  with_store(store_of(x.type), [&]<class T>(T) {
    for_rows(op.exec, l.lines, l.n * 16, [&](std::size_t line) {
      const T* const from = x.as<T>() + l.first(line);
      T* const to = y->as<T>() + l.first(line);
      double most = -__builtin_huge_val(), sum = 0;
      for (std::size_t i = 0; i < l.n; ++i) most = std::max(most, static_cast<double>(from[i * l.inner]));
      for (std::size_t i = 0; i < l.n; ++i) sum += exp64(static_cast<double>(from[i * l.inner]) - most);
      const double log_sum = log64(sum) + most;
      for (std::size_t i = 0; i < l.n; ++i)
        to[i * l.inner] = snap(stored<T>(static_cast<double>(from[i * l.inner]) - log_sum));
    });
  });
  round_to_type(*y);
  return {};
}

Result<void> hardmax(Op& op) {
  const Value& x = op.in(0);
  LOOM_TRY(const Lines l, lines_of(op));
  LOOM_TRY(Value* const y, op.out_like(0, x));
  if (op.measures()) return {};
  with_store(store_of(x.type), [&]<class T>(T) {
    for (std::size_t line = 0; line < l.lines; ++line) {
      const T* const from = x.as<T>() + l.first(line);
      std::size_t best = 0;
      for (std::size_t i = 0; i < l.n; ++i) {
        if (from[i * l.inner] > from[best * l.inner]) best = i;
        y->as<T>()[l.first(line) + i * l.inner] = T{};
      }
      y->as<T>()[l.first(line) + best * l.inner] = T{1};
    }
  });
  return {};
}

Result<void> lp_normalization(Op& op) {
  const Value& x = op.in(0);
  const std::int64_t p = op.integer("p", 2);
  if (p != 1 && p != 2) return op.refuse(Code::InvalidConfig, "p {}", p);
  LOOM_TRY(const std::size_t axis, op.axis(op.integer("axis", -1), x.rank()));
  LOOM_TRY(Value* const y, op.out_like(0, x));
  if (op.measures()) return {};
  const Lines l{x.dims[axis] == 0 ? 0 : x.elements() / x.dims[axis], x.dims[axis],
                count(std::span(x.dims).subspan(axis + 1))};
  with_store(store_of(x.type), [&]<class T>(T) {
    for (std::size_t line = 0; line < l.lines; ++line) {
      double sum = 0;
      const T* const from = x.as<T>() + l.first(line);
      for (std::size_t i = 0; i < l.n; ++i) {
        const auto v = static_cast<double>(from[i * l.inner]);
        sum += p == 1 ? (v < 0 ? -v : v) : v * v;
      }
      const double norm = p == 1 ? sum : __builtin_sqrt(sum);
      for (std::size_t i = 0; i < l.n; ++i)
        y->as<T>()[l.first(line) + i * l.inner] =
            norm == 0 ? T{} : snap(stored<T>(static_cast<double>(from[i * l.inner]) / norm));
    }
  });
  round_to_type(*y);
  return {};
}

// (x - mean) / (deviation + 1e-9) over the axes.
Result<void> mean_variance(Op& op) {
  const Value& x = op.in(0);
  auto axes = op.integers("axes");
  if (axes.empty()) axes = {0, 2, 3};
  LOOM_TRY(const Reduction r, reduction_of(op, axes, true));
  LOOM_TRY(Value* const y, op.out_like(0, x));
  if (op.measures()) return {};
  with_store(store_of(x.type), [&]<class T>(T) {
    for (const std::size_t first : r.kept) {
      const T* const from = x.as<T>() + first;
      double sum = 0, squares = 0;
      const auto n = static_cast<double>(r.reduced.size());
      for (const std::size_t at : r.reduced) sum += static_cast<double>(from[at]);
      const double mean = sum / n;
      for (const std::size_t at : r.reduced)
        squares += (static_cast<double>(from[at]) - mean) * (static_cast<double>(from[at]) - mean);
      const double deviation = __builtin_sqrt(squares / n) + 1e-9;
      for (const std::size_t at : r.reduced)
        y->as<T>()[first + at] = snap(stored<T>((static_cast<double>(from[at]) - mean) / deviation));
    }
  });
  round_to_type(*y);
  return {};
}

}  // namespace

std::span<const OpRow> reduce_rows() {
  static constexpr std::array kRows{
      OpRow{"ReduceSum", reduce_sum},
      OpRow{"ReduceMean", reduce_mean},
      OpRow{"ReduceProd", reduce_product},
      OpRow{"ReduceMax", reduce_max},
      OpRow{"ReduceMin", reduce_min},
      OpRow{"ReduceL1", reduce_l1},
      OpRow{"ReduceL2", reduce_l2},
      OpRow{"ReduceSumSquare", reduce_sum_square},
      OpRow{"ReduceLogSum", reduce_log_sum},
      OpRow{"ReduceLogSumExp", reduce_log_sum_exp},
      OpRow{"ArgMax", arg_max},
      OpRow{"ArgMin", arg_min},
      OpRow{"Softmax", softmax_op},
      OpRow{"LogSoftmax", log_softmax},
      OpRow{"Hardmax", hardmax},
      OpRow{"LpNormalization", lp_normalization},
      OpRow{"MeanVarianceNormalization", mean_variance},
  };
  return kRows;
}

}  // namespace loom::graph
