#include "ops/formula/formula.h"

#include "ops/decide/decide.h"
#include "ops/elementwise/activations.h"
#include "ops/fold/fold.h"
#include "ops/non_finite.h"
#include "simd/rows.h"

namespace loom::inline LOOM_TARGET {
namespace {

constexpr std::size_t kPiece = 512;    // elements whose results wait in the first-level cache
constexpr std::size_t kShortRow = 64;  // rows below this are put together to pieces

// An operand of a piece: elements that follow each other, or one for all.
template <class T>
struct Operand {
  const T* data;
  bool single;
};

template <class T, bool Single>
struct Source {
  const T* data;
  Lanes<T> one;
  explicit Source(const T* from) : data(from), one(splat(Single ? *from : T{})) {}
  template <class L>
  LOOM_INLINE Lanes<T> at(std::size_t i, const L& lanes) const {
    if constexpr (Single)
      return one;
    else
      return lanes.load(data + i);
  }
};

template <class T, bool SingleA, bool SingleB, class F>
LOOM_INLINE void combine(const T* a, const T* b, std::size_t n, T* y, F&& f) {
  const Source<T, SingleA> from_a(a);
  const Source<T, SingleB> from_b(b);
  for_lanes(n,
            [&](std::size_t i, auto lanes) { lanes.store(y + i, snap(f(from_a.at(i, lanes), from_b.at(i, lanes)))); });
}

template <class T, class F>
LOOM_INLINE void two(const Operand<T>& a, const Operand<T>& b, std::size_t n, T* y, F&& f) {
  if (!a.single && !b.single) return combine<T, false, false>(a.data, b.data, n, y, f);
  if (!a.single) return combine<T, false, true>(a.data, b.data, n, y, f);
  if (!b.single) return combine<T, true, false>(a.data, b.data, n, y, f);
  const Lanes<T> v = snap(f(splat(*a.data), splat(*b.data)));
  for_lanes(n, [&](std::size_t i, auto lanes) { lanes.store(y + i, v); });
}

template <class T, class F>
LOOM_INLINE void one(const Operand<T>& a, std::size_t n, T* y, F&& f) {
  if (!a.single)
    return for_lanes(n, [&](std::size_t i, auto lanes) { lanes.store(y + i, snap(f(lanes.load(a.data + i)))); });
  const Lanes<T> v = snap(f(splat(*a.data)));
  for_lanes(n, [&](std::size_t i, auto lanes) { lanes.store(y + i, v); });
}

// Long functions are compiled once, for whole vectors and tails alike.
template <class T, class F>
LOOM_INLINE void one_long(const Operand<T>& a, std::size_t n, T* y, F&& f) {
  for (std::size_t i = 0; i < n; i += kLanes) {
    const std::size_t count = n - i < kLanes ? n - i : kLanes;
    const Lanes<T> x = a.single          ? splat(*a.data)
                       : count == kLanes ? load(a.data + i)
                                         : TailLanes{count}.load(a.data + i);
    const Lanes<T> v = snap(f(x));
    if (count == kLanes)
      store(y + i, v);
    else
      TailLanes{count}.store(y + i, v);
  }
}

template <class T>
void run_step(const FormulaStep& step, const Operand<T>& a, const Operand<T>& b, std::size_t n, T* y) {
  using V = Lanes<T>;
  const V low = splat(static_cast<T>(step.low)), high = splat(static_cast<T>(step.high));
  switch (step.kind) {
    case FormulaKind::Add: return two(a, b, n, y, [](const V& p, const V& q) { return p + q; });
    case FormulaKind::Subtract: return two(a, b, n, y, [](const V& p, const V& q) { return p - q; });
    case FormulaKind::Multiply: return two(a, b, n, y, [](const V& p, const V& q) { return p * q; });
    case FormulaKind::Divide: return two(a, b, n, y, [](const V& p, const V& q) { return p / q; });
    case FormulaKind::Larger:
      return two(a, b, n, y, [](const V& p, const V& q) {
        return select(is_nan(p), p, select(is_nan(q), q, select(p < q, q, p)));
      });
    case FormulaKind::Smaller:
      return two(a, b, n, y, [](const V& p, const V& q) {
        return select(is_nan(p), p, select(is_nan(q), q, select(q < p, q, p)));
      });
    case FormulaKind::Clip:
      return one(a, n, y, [&](const V& p) {
        const V above = select(p < low, low, p);
        return select(above > high, high, above);
      });
    case FormulaKind::HardSigmoid:
      return one(a, n, y, [&](const V& p) {
        const V v = low * p + high, inside = select(v > zeros<T>(), v, zeros<T>());
        return select(is_nan(v), v, select(v > splat(T{1}), splat(T{1}), inside));
      });
    case FormulaKind::Negate: return one(a, n, y, [](const V& p) { return negate(p); });
    case FormulaKind::Size: return one(a, n, y, [](const V& p) { return abs(p); });
    case FormulaKind::Square: return one(a, n, y, [](const V& p) { return p * p; });
    case FormulaKind::Root: return one(a, n, y, [](const V& p) { return sqrt(p); });
    case FormulaKind::Inverse: return one(a, n, y, [](const V& p) { return splat(T{1}) / p; });
    case FormulaKind::Exp: return one_long(a, n, y, [](const V& p) { return exp(p); });
    case FormulaKind::Log: return one_long(a, n, y, [](const V& p) { return log(p); });
    case FormulaKind::Erf: return one_long(a, n, y, [](const V& p) { return erf(p); });
    case FormulaKind::Activate: return with_activation<T>(step.fn, [&](auto value, auto) { one_long(a, n, y, value); });
  }
}

// Places of an element of y in the inputs, walked from row to row.
template <class T>
struct Walk {
  const FormulaTask<T>& task;
  std::size_t at[kFormulaAxes] = {}, offset[kFormulaInputs] = {};

  LOOM_INLINE std::size_t cols() const { return task.dims[task.num_axes - 1]; }
  void start_row(std::size_t row) {
    for (std::size_t axis = task.num_axes - 1; axis-- > 0;) {
      at[axis] = row % task.dims[axis];
      row /= task.dims[axis];
      for (std::size_t k = 0; k < task.num_inputs; ++k) offset[k] += at[axis] * task.strides[k][axis];
    }
  }
  void next_row() {
    for (std::size_t axis = task.num_axes - 1; axis-- > 0;) {
      const bool wraps = ++at[axis] == task.dims[axis];
      for (std::size_t k = 0; k < task.num_inputs; ++k)
        offset[k] += task.strides[k][axis] - (wraps ? task.dims[axis] * task.strides[k][axis] : 0);
      if (!wraps) return;
      at[axis] = 0;
    }
  }
};

template <class T>
void run_piece(const FormulaTask<T>& task, const Operand<T>* inputs, std::size_t n, T* y) {
  alignas(64) T slots[kFormulaSlots][kPiece];
  const auto operand = [&](std::uint8_t i) {
    return i < kFormulaInputs ? inputs[i] : Operand<T>{slots[task.steps[i - kFormulaInputs].slot], false};
  };
  for (std::size_t s = 0; s < task.num_steps; ++s) {
    const FormulaStep& step = task.steps[s];
    const Operand<T> a = operand(step.a), b = has_two_operands(step.kind) ? operand(step.b) : a;
    run_step(step, a, b, n, s + 1 == task.num_steps ? y : slots[step.slot]);
  }
}

// Whether elements of the input follow each other as those of y do, or are one for all.
template <class T>
bool is_dense(const FormulaTask<T>& task, std::size_t k) {
  std::size_t step = 1;
  for (std::size_t axis = task.num_axes; axis-- > 0; step *= task.dims[axis])
    if (task.strides[k][axis] != step) return false;
  return true;
}
template <class T>
bool is_single(const FormulaTask<T>& task, std::size_t k) {
  for (std::size_t axis = 0; axis < task.num_axes; ++axis)
    if (task.strides[k][axis] != 0) return false;
  return true;
}

// Rows of some length: pieces of one row each.
template <class T>
void by_rows(const FormulaTask<T>& task, std::size_t first, std::size_t count) {
  Walk<T> walk{task};
  const std::size_t cols = walk.cols();
  walk.start_row(first / cols);
  for (std::size_t column = first % cols; count != 0;) {
    const std::size_t left = cols - column < count ? cols - column : count, n = left < kPiece ? left : kPiece;
    Operand<T> inputs[kFormulaInputs];
    for (std::size_t k = 0; k < task.num_inputs; ++k) {
      const std::size_t step = task.strides[k][task.num_axes - 1];
      inputs[k] = {task.inputs[k] + walk.offset[k] + column * step, step == 0};
    }
    run_piece(task, inputs, n, task.y + first);
    first += n, count -= n, column += n;
    if (column == cols) {
      column = 0;
      walk.next_row();
    }
  }
}

// Short rows: pieces of several, for which inputs that are stretched are written out.
template <class T>
void by_pieces(const FormulaTask<T>& task, std::size_t first, std::size_t count) {
  alignas(64) T stretched[kFormulaInputs][kPiece];
  bool dense[kFormulaInputs], single[kFormulaInputs];
  for (std::size_t k = 0; k < task.num_inputs; ++k) dense[k] = is_dense(task, k), single[k] = is_single(task, k);
  Walk<T> walk{task};
  const std::size_t cols = walk.cols();
  walk.start_row(first / cols);
  for (std::size_t column = first % cols; count != 0;) {
    const std::size_t n = count < kPiece ? count : kPiece;
    for (std::size_t done = 0; done < n;) {
      const std::size_t left = cols - column < n - done ? cols - column : n - done;
      for (std::size_t k = 0; k < task.num_inputs; ++k) {
        if (dense[k] || single[k]) continue;
        const std::size_t step = task.strides[k][task.num_axes - 1];
        const T* const from = task.inputs[k] + walk.offset[k] + column * step;
        for (std::size_t i = 0; i < left; ++i) stretched[k][done + i] = from[i * step];
      }
      done += left, column += left;
      if (column == cols) {
        column = 0;
        walk.next_row();
      }
    }
    Operand<T> inputs[kFormulaInputs];
    for (std::size_t k = 0; k < task.num_inputs; ++k)
      inputs[k] = {dense[k] ? task.inputs[k] + first : single[k] ? task.inputs[k] : stretched[k], single[k]};
    run_piece(task, inputs, n, task.y + first);
    first += n, count -= n;
  }
}

template <class T>
void evaluate(const FormulaTask<T>& task, std::size_t first, std::size_t count) {
  const bool is_row = task.num_axes == 1, is_long = task.dims[task.num_axes - 1] >= kShortRow;
  is_row || is_long ? by_rows(task, first, count) : by_pieces(task, first, count);
}

// ---- beside formulas ----

std::uint32_t decided(Decision how, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  const auto x = __builtin_bit_cast(float, a), y = __builtin_bit_cast(float, b);
  switch (how) {
    case Decision::Equal: return x == y;
    case Decision::Greater: return x > y;
    case Decision::Less: return x < y;
    case Decision::GreaterOrEqual: return x >= y;
    case Decision::LessOrEqual: return x <= y;
    case Decision::IsNan: return (a & 0x7fffffffu) > 0x7f800000u;
    case Decision::Not: return a == 0;
    case Decision::And: return a & b;
    case Decision::Or: return a | b;
    case Decision::Xor: return a ^ b;
    case Decision::Choose: return a != 0 ? b : c;
  }
  return 0;
}

void decide_elements(Decision how, std::span<const FormulaInput> inputs, std::span<const std::size_t> dims,
                     std::size_t first, std::size_t count, std::uint32_t* y) {
  const auto word = [&](std::size_t k, std::size_t i) -> std::uint32_t {
    if (k >= inputs.size()) return 0;
    std::size_t at = 0;
    for (std::size_t axis = dims.size(); axis-- > 0; i /= dims[axis]) at += i % dims[axis] * inputs[k].strides[axis];
    return static_cast<const std::uint32_t*>(inputs[k].data)[at];
  };
  for (std::size_t i = first; i < first + count; ++i) y[i] = decided(how, word(0, i), word(1, i), word(2, i));
}

bool is_nan_by_bits(float x) { return (__builtin_bit_cast(std::uint32_t, x) & 0x7fffffffu) > 0x7f800000u; }

float extreme(bool largest, const float* x, const FoldAxes& reduced, std::size_t n) {
  float best = x[reduced.at(0)];
  for (std::size_t k = 1; k < n; ++k) {
    const float v = x[reduced.at(k)];
    const bool wins = is_nan_by_bits(v) || (largest ? v > best : v < best);
    if (wins && !is_nan_by_bits(best)) best = v;
  }
  return best;
}

float sum_of(Fold how, const float* x, const FoldAxes& reduced, std::size_t n) {
  double total = 0;
  for (std::size_t k = 0; k < n; ++k) {
    const auto v = static_cast<double>(x[reduced.at(k)]);
    total += how == Fold::SumOfSquares ? v * v : how == Fold::SumOfSizes && v < 0 ? -v : v;
  }
  return static_cast<float>(how == Fold::Mean ? total / static_cast<double>(n) : total);
}

void fold_elements(Fold how, const float* x, const FoldAxes& kept, const FoldAxes& reduced, std::size_t first,
                   std::size_t count, float* y) {
  const std::size_t n = reduced.count();
  const bool is_extreme = how == Fold::Largest || how == Fold::Smallest;
  for (std::size_t i = first; i < first + count; ++i) {
    const float* const from = x + kept.at(i);
    y[i] = snap(is_extreme ? extreme(how == Fold::Largest, from, reduced, n) : sum_of(how, from, reduced, n));
  }
}

void affine_row(const float* x, float mean, float scale, float bias, std::size_t n, float* y) {
  for (std::size_t i = 0; i < n; ++i) y[i] = snap((x[i] - mean) * scale + bias);
}

}  // namespace

extern const PerElement<FormulaKernels> formula_kernels;
const PerElement<FormulaKernels> formula_kernels = per_element<PerElement<FormulaKernels>>([]<class T> {
  return FormulaKernels<T>{
      .evaluate = evaluate<T>, .decide = decide_elements, .fold = fold_elements, .affine = affine_row};
});

}  // namespace loom::inline LOOM_TARGET
