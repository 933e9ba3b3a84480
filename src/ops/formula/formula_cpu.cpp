#include "ops/formula/formula.h"

#include "ops/elementwise/activations.h"
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
    if (column == cols) column = 0, walk.next_row();
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
      if (column == cols) column = 0, walk.next_row();
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

}  // namespace

extern const PerElement<FormulaKernels> formula_kernels;
const PerElement<FormulaKernels> formula_kernels =
    per_element<PerElement<FormulaKernels>>([]<class T> { return FormulaKernels<T>{.evaluate = evaluate<T>}; });

}  // namespace loom::inline LOOM_TARGET
