// Operations of two and more inputs that stretch to one shape, element by element.

#include <algorithm>
#include <array>

#include "graph/formulas.h"
#include "ops/for_rows.h"
#include "simd/math64.h"

namespace loom::graph {
namespace {

// Axes of the output that two operands walk through in the same way are one: [2, 3, 4] and [1, 1, 4] become [6, 4].
struct Walk {
  Dims dims;
  std::vector<std::size_t> a, b;
};

Walk merged(const Dims& dims, const std::vector<std::size_t>& a, const std::vector<std::size_t>& b) {
  Walk w;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 1) continue;
    const bool joins = !w.dims.empty() && w.a.back() == a[i] * dims[i] && w.b.back() == b[i] * dims[i];
    if (joins)
      w.dims.back() *= dims[i], w.a.back() = a[i], w.b.back() = b[i];
    else
      w.dims.push_back(dims[i]), w.a.push_back(a[i]), w.b.push_back(b[i]);
  }
  if (w.dims.empty()) w.dims = {count(dims)}, w.a = {0}, w.b = {0};
  return w;
}

template <class T, class R, class F>
void run_row(const T* a, std::size_t step_a, const T* b, std::size_t step_b, std::size_t n, R* y, F&& f) {
  if (step_a == 1 && step_b == 1) {
    for (std::size_t i = 0; i < n; ++i) y[i] = f(a[i], b[i]);
  } else if (step_a == 1 && step_b == 0) {
    for (std::size_t i = 0; i < n; ++i) y[i] = f(a[i], b[0]);
  } else if (step_a == 0 && step_b == 1) {
    for (std::size_t i = 0; i < n; ++i) y[i] = f(a[0], b[i]);
  } else {
    for (std::size_t i = 0; i < n; ++i) y[i] = f(a[i * step_a], b[i * step_b]);
  }
}

template <class T, class R, class F>
void stretch(const Exec& exec, const Value& a, const Value& b, const Value& y, F&& f) {
  if (y.elements() == 0) return;
  const Walk w = merged(y.dims, stretched_strides(a.dims, y.dims), stretched_strides(b.dims, y.dims));
  const std::size_t cols = w.dims.back(), outer = w.dims.size() - 1;
  if (outer == 0) {  // one row: its pieces are shared out
    for_elements(exec, cols, [&](std::size_t first, std::size_t n) {
      run_row(a.as<T>() + first * w.a[0], w.a[0], b.as<T>() + first * w.b[0], w.b[0], n, y.as<R>() + first, f);
    });
    return;
  }
  for_rows(exec, y.elements() / cols, cols, [&](std::size_t row) {
    std::size_t at_a = 0, at_b = 0, rest = row;
    for (std::size_t axis = outer; axis-- > 0;) {
      const std::size_t i = rest % w.dims[axis];
      rest /= w.dims[axis];
      at_a += i * w.a[axis], at_b += i * w.b[axis];
    }
    run_row(a.as<T>() + at_a, w.a[outer], b.as<T>() + at_b, w.b[outer], cols, y.as<R>() + row * cols, f);
  });
}

Result<void> same_types(Op& op) {
  for (std::size_t i = 1; i < op.num_ins(); ++i)
    if (!op.has(i) || op.in(i).type != op.in(0).type)
      return op.refuse(Code::CorruptData, "input {} is no {} as input 0 is", i, name_of(op.in(0).type));
  return {};
}

// The shape of the result; older opsets (below 7) said where to stretch.
Result<Dims> result_dims(Op& op) {
  Dims dims = op.in(0).dims;
  for (std::size_t i = 1; i < op.num_ins(); ++i) {
    LOOM_TRY(dims, broadcast(dims, op.in(i).dims));
  }
  return dims;
}

template <class F>
Result<void> arithmetic(Op& op, F&& f) {
  LOOM_TRY_VOID(same_types(op));
  LOOM_TRY(const Dims dims, result_dims(op));
  LOOM_TRY(Value* const y, op.out(0, op.in(0).type, dims));
  if (op.measures()) return {};
  with_store(store_of(y->type), [&]<class T>(T) { stretch<T, T>(op.exec, op.in(0), op.in(1), *y, f); });
  round_to_type(*y);
  return {};
}

template <class F>
Result<void> comparison(Op& op, Decision how, F&& f) {
  LOOM_TRY_VOID(same_types(op));
  LOOM_TRY(const Dims dims, result_dims(op));
  LOOM_TRY(Value* const y, op.out(0, Type::boolean, dims));
  if (op.in(0).type == Type::f32) LOOM_TRY_VOID(by_decision(op, how, *y));
  if (op.measures() || op.is_on_card()) return {};
  with_store(store_of(op.in(0).type), [&]<class T>(T) {
    stretch<T, std::int64_t>(op.exec, op.in(0), op.in(1), *y, [&](T a, T b) { return f(a, b) ? 1 : 0; });
  });
  return {};
}

// Floats are steps of a formula.
Result<void> formula_or(Op& op, Result<void> (*whole)(Op& op)) {
  LOOM_TRY_VOID(same_types(op));
  const auto step = step_of(op.node, op.opset, op.ins);
  return step ? by_formula(op, *step) : whole(op);
}

template <class F>
Result<void> whole_op(Op& op, F&& f) {
  if (store_of(op.in(0).type) != Store::i64) return op.refuse(Code::Unsupported, "of {}", name_of(op.in(0).type));
  return arithmetic(op, [&]<class T>(T a, T b) -> T {
    if constexpr (std::is_integral_v<T>)
      return f(a, b);
    else
      return a;
  });
}

template <class F>
Result<void> truth_op(Op& op, Decision how, F&& f) {
  if (op.in(0).type == Type::boolean && op.in(1).type == Type::boolean) {
    LOOM_TRY(const Dims dims, result_dims(op));
    LOOM_TRY(Value* const y, op.out(0, Type::boolean, dims));
    LOOM_TRY_VOID(by_decision(op, how, *y));
    if (op.is_on_card()) return {};
  }
  return whole_op(op, f);
}

// Whole numbers wrap.
Result<void> whole_sum(Op& op) { return whole_op(op, plus<std::int64_t>); }
Result<void> whole_difference(Op& op) {
  return whole_op(op, [](std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
  });
}
Result<void> whole_product(Op& op) { return whole_op(op, times<std::int64_t>); }
// Division by zero gives 0, and is cut towards zero.
Result<void> whole_quotient(Op& op) {
  const bool is_unsigned = op.in(0).type == Type::u64;
  return whole_op(op, [=](std::int64_t a, std::int64_t b) {
    if (b == 0) return std::int64_t{0};
    if (is_unsigned) return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) / static_cast<std::uint64_t>(b));
    return b == -1 ? static_cast<std::int64_t>(0u - static_cast<std::uint64_t>(a)) : a / b;
  });
}

Result<void> add_op(Op& op) { return formula_or(op, whole_sum); }
Result<void> subtract_op(Op& op) { return formula_or(op, whole_difference); }
Result<void> multiply_op(Op& op) { return formula_or(op, whole_product); }
Result<void> divide_op(Op& op) { return formula_or(op, whole_quotient); }

std::int64_t whole_power(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
  std::uint64_t y = 1, b = static_cast<std::uint64_t>(base);
  for (auto e = static_cast<std::uint64_t>(exponent); e != 0; e >>= 1, b *= b)
    if (e & 1) y *= b;
  return static_cast<std::int64_t>(y);
}

// The exponent may be of another type: the result has that of the base. Squares, which norms are made of, are products.
Result<void> power(Op& op) {
  const Value &x = op.in(0), &e = op.in(1);
  if (const auto step = step_of(op.node, op.opset, op.ins)) return by_formula(op, *step);
  LOOM_TRY(const Dims dims, result_dims(op));
  LOOM_TRY(Value* const y, op.out(0, x.type, dims));
  if (op.measures()) return {};
  const auto strides_x = stretched_strides(x.dims, dims), strides_e = stretched_strides(e.dims, dims);
  std::vector<std::size_t> from_e(y->elements());
  walk(dims, strides_e, [&](std::size_t i, std::size_t at) { from_e[i] = at; });
  walk(dims, strides_x, [&](std::size_t i, std::size_t at) {
    if (store_of(x.type) == Store::i64 && store_of(e.type) == Store::i64)
      y->as<std::int64_t>()[i] = whole_power(x.as<std::int64_t>()[at], e.as<std::int64_t>()[from_e[i]]);
    else if (store_of(x.type) == Store::i64)
      y->as<std::int64_t>()[i] =
          stored<std::int64_t>(std::clamp(pow64(x.number(at), e.number(from_e[i])), -0x1p62, 0x1p62));
    else if (store_of(x.type) == Store::f32)
      y->as<float>()[i] = snap(static_cast<float>(pow64(x.number(at), e.number(from_e[i]))));
    else
      y->as<double>()[i] = snap(pow64(x.number(at), e.number(from_e[i])));
  });
  round_to_type(*y);
  return {};
}

// fmod = 0: the sign of the divisor; fmod = 1: that of the dividend.
double remainder_of(double a, double b) {
  if (!(b != 0) || a != a || a - a != 0) return __builtin_nan("");
  if (b != b) return b;
  if (b - b != 0) return a;
  return __builtin_fmod(a, b);  // exact
}
Result<void> modulo(Op& op) {
  const bool truncates = op.integer("fmod", 0) != 0;
  const bool is_unsigned = op.in(0).type == Type::u64;
  return arithmetic(op, [=]<class T>(T a, T b) -> T {
    if constexpr (std::is_integral_v<T>) {
      if (b == 0) return 0;
      if (is_unsigned) return static_cast<T>(static_cast<std::uint64_t>(a) % static_cast<std::uint64_t>(b));
      const T r = b == -1 ? 0 : a % b;
      return !truncates && r != 0 && (r < 0) != (b < 0) ? r + b : r;
    } else {
      const double r = remainder_of(static_cast<double>(a), static_cast<double>(b));
      return static_cast<T>(!truncates && r != 0 && (r < 0) != (b < 0) ? r + static_cast<double>(b) : r);
    }
  });
}

Result<void> equal(Op& op) {
  return comparison(op, Decision::Equal, [](auto a, auto b) { return a == b; });
}
Result<void> greater(Op& op) {
  return comparison(op, Decision::Greater, [](auto a, auto b) { return a > b; });
}
Result<void> less(Op& op) {
  return comparison(op, Decision::Less, [](auto a, auto b) { return a < b; });
}
Result<void> greater_or_equal(Op& op) {
  return comparison(op, Decision::GreaterOrEqual, [](auto a, auto b) { return a >= b; });
}
Result<void> less_or_equal(Op& op) {
  return comparison(op, Decision::LessOrEqual, [](auto a, auto b) { return a <= b; });
}

Result<void> and_op(Op& op) {
  return truth_op(op, Decision::And, [](std::int64_t a, std::int64_t b) { return a & b; });
}
Result<void> or_op(Op& op) {
  return truth_op(op, Decision::Or, [](std::int64_t a, std::int64_t b) { return a | b; });
}
Result<void> xor_op(Op& op) {
  return truth_op(op, Decision::Xor, [](std::int64_t a, std::int64_t b) { return a ^ b; });
}
// Shifts by the width or more, and by less than nothing, leave no bit of an unsigned number and the sign of a signed
// one.
Result<void> shift(Op& op) {
  const bool left = op.text("direction", "") == "LEFT";
  const Type type = op.in(0).type;
  const auto width = static_cast<std::int64_t>(8 * stored_bytes(type, 1));
  const bool is_signed = type == Type::i8 || type == Type::i16 || type == Type::i32 || type == Type::i64;
  return whole_op(op, [=](std::int64_t a, std::int64_t b) {
    if (b < 0 || b >= width) return !left && is_signed && a < 0 ? std::int64_t{-1} : std::int64_t{0};
    if (left) return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) << b);
    return is_signed ? a >> b : static_cast<std::int64_t>(static_cast<std::uint64_t>(a) >> b);
  });
}

Result<void> prelu(Op& op) {
  return arithmetic(op, []<class T>(T x, T slope) {
    if constexpr (std::is_integral_v<T>)
      return x < 0 ? times(x, slope) : x;
    else
      return x < 0 ? snap(x * slope) : x;
  });
}

constexpr auto kPlus = [](auto a, auto b) { return snap(plus(a, b)); };

// Max, Min, Sum, Mean: from the first input on, in order. A NaN wins.
template <class F>
Result<void> fold(Op& op, F&& f, bool means) {
  LOOM_TRY_VOID(same_types(op));
  if (const auto step = step_of(op.node, op.opset, op.ins)) return by_formula(op, *step);
  LOOM_TRY(const Dims dims, result_dims(op));
  const Type type = op.in(0).type;
  LOOM_TRY(Value* const y, op.out(0, type, dims));
  if (op.measures()) return {};
  with_store(store_of(type), [&]<class T>(T) {
    const Value& first = op.in(0);
    walk(dims, stretched_strides(first.dims, dims),
         [&](std::size_t i, std::size_t at) { y->as<T>()[i] = first.as<T>()[at]; });
    for (std::size_t k = 1; k < op.num_ins(); ++k) stretch<T, T>(op.exec, *y, op.in(k), *y, f);
    if (means)
      for (std::size_t i = 0; i < y->elements(); ++i)
        y->as<T>()[i] = snap(y->as<T>()[i] / static_cast<T>(op.num_ins()));
  });
  round_to_type(*y);
  return {};
}
struct Larger {
  bool is_unsigned = false;
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>)
      if (is_unsigned) return static_cast<std::uint64_t>(a) < static_cast<std::uint64_t>(b) ? b : a;
    return a != a ? a : b != b ? b : a < b ? b : a;
  }
};
struct Smaller {
  bool is_unsigned = false;
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>)
      if (is_unsigned) return static_cast<std::uint64_t>(b) < static_cast<std::uint64_t>(a) ? b : a;
    return a != a ? a : b != b ? b : b < a ? b : a;
  }
};
Result<void> max_op(Op& op) { return fold(op, Larger{op.in(0).type == Type::u64}, false); }
Result<void> min_op(Op& op) { return fold(op, Smaller{op.in(0).type == Type::u64}, false); }
Result<void> sum_op(Op& op) { return fold(op, kPlus, false); }
Result<void> mean_op(Op& op) { return fold(op, kPlus, true); }

Result<void> where(Op& op) {
  const Value &c = op.in(0), &a = op.in(1), &b = op.in(2);
  if (a.type != b.type) return op.refuse(Code::CorruptData, "of {} and {}", name_of(a.type), name_of(b.type));
  LOOM_TRY(const Dims both, broadcast(a.dims, b.dims));
  LOOM_TRY(const Dims dims, broadcast(c.dims, both));
  LOOM_TRY(Value* const y, op.out(0, a.type, dims));
  if (c.type == Type::boolean) LOOM_TRY_VOID(by_decision(op, Decision::Choose, *y));
  if (op.measures() || op.is_on_card()) return {};
  if (store_of(c.type) != Store::i64) return op.refuse(Code::CorruptData, "a condition of {}", name_of(c.type));
  with_store(store_of(a.type), [&]<class T>(T) {
    walk(dims, stretched_strides(b.dims, dims), [&](std::size_t i, std::size_t at) { y->as<T>()[i] = b.as<T>()[at]; });
    std::vector<bool> takes(y->elements());
    walk(dims, stretched_strides(c.dims, dims),
         [&](std::size_t i, std::size_t at) { takes[i] = c.as<std::int64_t>()[at] != 0; });
    walk(dims, stretched_strides(a.dims, dims), [&](std::size_t i, std::size_t at) {
      if (takes[i]) y->as<T>()[i] = a.as<T>()[at];
    });
  });
  return {};
}

}  // namespace

std::span<const OpRow> binary_rows() {
  static constexpr std::array kRows{
      OpRow{"Add", add_op, false, 2},
      OpRow{"Sub", subtract_op, false, 2},
      OpRow{"Mul", multiply_op, false, 2},
      OpRow{"Div", divide_op, false, 2},
      OpRow{"Pow", power, false, 2},
      OpRow{"Mod", modulo, false, 2},
      OpRow{"Equal", equal, false, 2},
      OpRow{"Greater", greater, false, 2},
      OpRow{"Less", less, false, 2},
      OpRow{"GreaterOrEqual", greater_or_equal, false, 2},
      OpRow{"LessOrEqual", less_or_equal, false, 2},
      OpRow{"And", and_op, false, 2},
      OpRow{"Or", or_op, false, 2},
      OpRow{"Xor", xor_op, false, 2},
      OpRow{"BitwiseAnd", and_op, false, 2},
      OpRow{"BitwiseOr", or_op, false, 2},
      OpRow{"BitwiseXor", xor_op, false, 2},
      OpRow{"BitShift", shift, false, 2},
      OpRow{"PRelu", prelu, false, 2},
      OpRow{"Max", max_op},
      OpRow{"Min", min_op},
      OpRow{"Sum", sum_op},
      OpRow{"Mean", mean_op},
      OpRow{"Where", where, false, 3},
  };
  return kRows;
}

}  // namespace loom::graph
