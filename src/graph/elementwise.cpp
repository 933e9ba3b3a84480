// Operations of one input, element by element: steps of a formula where they are one, else functions of simd/math64.h,
// computed in f64 and rounded once.

#include <algorithm>

#include "graph/formulas.h"
#include "ops/for_rows.h"
#include "simd/math64.h"

namespace loom::graph {
namespace {

constexpr double kPi = 0x1.921fb54442d18p+1;

double square_root(double x) { return __builtin_sqrt(x); }

// The argument is halved until the series of atan has few terms.
double atan64(double x) {
  if (x != x) return x;
  const double size = x < 0 ? -x : x;
  if (size > 0x1p60) return x < 0 ? -kPi / 2 : kPi / 2;
  double t = size > 1 ? 1 / size : size;
  for (int i = 0; i < 3; ++i) t = t / (1 + square_root(1 + t * t));
  const double square = t * t;
  double sum = 0;
  for (int k = 12; k >= 0; --k) sum = (k % 2 == 0 ? 1.0 : -1.0) / (2 * k + 1) + square * sum;
  double angle = 8 * t * sum;
  if (size > 1) angle = kPi / 2 - angle;
  return x < 0 ? -angle : angle;
}
double asin64(double x) {
  const double size = x < 0 ? -x : x;
  if (!(size <= 1)) return __builtin_nan("");
  if (size == 1) return x * (kPi / 2);
  return atan64(x / square_root((1 - x) * (1 + x)));
}
double acos64(double x) {
  if (!(x >= -1 && x <= 1)) return __builtin_nan("");
  if (x == -1) return kPi;
  return 2 * atan64(square_root((1 - x) / (1 + x)));
}
double sinh64(double x) {
  const double size = x < 0 ? -x : x, e = expm1_64(size);
  const double y = size > 700 ? exp64(size / 2) / 2 * exp64(size / 2) : (e + e / (e + 1)) / 2;
  return x < 0 ? -y : y;
}
double cosh64(double x) {
  const double size = x < 0 ? -x : x, half = exp64(size / 2);
  return size > 700 ? half / 2 * half : (exp64(size) + exp64(-size)) / 2;
}
double asinh64(double x) {
  const double size = x < 0 ? -x : x;
  const double y = size > 0x1p28 ? log64(size) + 0x1.62e42fefa39efp-1
                                 : log1p64(size + size * size / (1 + square_root(1 + size * size)));
  return x < 0 ? -y : y;
}
double acosh64(double x) { return x < 1 ? __builtin_nan("") : log64(x + square_root((x - 1) * (x + 1))); }
double floor64(double x) { return __builtin_floor(x); }
double ceil64(double x) { return __builtin_ceil(x); }
double softplus64(double x) { return (x > 0 ? x : 0) + log1p64(exp64(x > 0 ? -x : x)); }

// y = f(x) for every element, with f of double; whole numbers and all.
template <class F>
Result<void> map(Op& op, F&& f) {
  const Value& x = op.in(0);
  LOOM_TRY(Value* const y, op.out_like(0, x));
  with_store(store_of(x.type), [&]<class T>(T) {
    for_elements(op.exec, x.elements(), [&](std::size_t first, std::size_t n) {
      for (std::size_t i = first; i < first + n; ++i)
        y->as<T>()[i] = snap(stored<T>(f(static_cast<double>(x.as<T>()[i]))));
    });
  });
  if (!op.measures()) round_to_type(*y);
  return {};
}
// Computes in the type of the store.
template <class F>
Result<void> map_exact(Op& op, F&& f) {
  const Value& x = op.in(0);
  LOOM_TRY(Value* const y, op.out_like(0, x));
  with_store(store_of(x.type), [&]<class T>(T) {
    for_elements(op.exec, x.elements(), [&](std::size_t first, std::size_t n) {
      for (std::size_t i = first; i < first + n; ++i) y->as<T>()[i] = f(x.as<T>()[i]);
    });
  });
  if (!op.measures()) round_to_type(*y);
  return {};
}
// Truth values.
template <class F>
Result<void> test(Op& op, F&& f, std::optional<Decision> how = {}) {
  const Value& x = op.in(0);
  LOOM_TRY(Value* const y, op.out(0, Type::boolean, x.dims));
  if (how) LOOM_TRY_VOID(by_decision(op, *how, *y));
  if (op.is_on_card()) return {};
  for_elements(op.exec, x.elements(), [&](std::size_t first, std::size_t n) {
    for (std::size_t i = first; i < first + n; ++i) y->as<std::int64_t>()[i] = f(x.number(i)) ? 1 : 0;
  });
  return {};
}

template <double (*F)(double)>
Result<void> function(Op& op) {
  return map(op, F);
}

// Operations that are steps of a formula; `Other` is for all others.
Result<void> no_whole(Op& op) { return op.refuse(Code::Unsupported, "of {}", name_of(op.in(0).type)); }
template <OpFn Other = no_whole>
Result<void> formula(Op& op) {
  const auto step = step_of(op.node, op.opset, op.ins);
  return step ? by_formula(op, *step) : Other(op);
}

Result<void> whole_relu(Op& op) {
  return map_exact(op, [](auto x) { return x > 0 ? x : decltype(x){}; });
}
Result<void> identity(Op& op) {
  LOOM_TRY_VOID(op.out_like(0, op.in(0)));
  return {};
}
Result<void> whole_absolute(Op& op) {
  return map_exact(op, [](auto x) { return x < 0 ? -x : x; });
}
Result<void> whole_negative(Op& op) {
  return map_exact(op, [](auto x) {
    if constexpr (std::is_integral_v<decltype(x)>)
      return static_cast<std::int64_t>(0u - static_cast<std::uint64_t>(x));
    else
      return -x;
  });
}
Result<void> sign(Op& op) {
  return map_exact(op, [](auto x) { return static_cast<decltype(x)>(x > 0 ? 1 : x < 0 ? -1 : x == x ? 0 : x); });
}
Result<void> elu(Op& op) {
  const double alpha = op.number("alpha", 1);
  return map(op, [=](double x) { return x < 0 ? alpha * expm1_64(x) : x; });
}
Result<void> celu(Op& op) {
  const double alpha = op.number("alpha", 1);
  return map(op, [=](double x) { return x < 0 ? alpha * expm1_64(x / alpha) : x; });
}
Result<void> selu(Op& op) {
  const double alpha = op.number("alpha", 1.67326319217681884765625),
               gamma = op.number("gamma", 1.05070102214813232421875);
  return map(op, [=](double x) { return gamma * (x > 0 ? x : alpha * expm1_64(x)); });
}
Result<void> swish(Op& op) {
  const double alpha = op.number("alpha", 1);
  return map(op, [=](double x) { return x * sigmoid64(alpha * x); });
}
Result<void> thresholded_relu(Op& op) {
  const double alpha = op.number("alpha", 1);
  return map(op, [=](double x) { return x > alpha ? x : 0; });
}
Result<void> shrink(Op& op) {
  const double bias = op.number("bias", 0), lambda = op.number("lambd", 0.5);
  return map(op, [=](double x) { return x < -lambda ? x + bias : x > lambda ? x - bias : 0; });
}
Result<void> not_of(Op& op) {
  const bool is_truth = op.in(0).type == Type::boolean;
  return test(op, [](double x) { return x == 0; }, is_truth ? std::optional(Decision::Not) : std::nullopt);
}
Result<void> is_nan(Op& op) {
  const bool is_float = op.in(0).type == Type::f32;
  return test(op, [](double x) { return x != x; }, is_float ? std::optional(Decision::IsNan) : std::nullopt);
}
Result<void> is_inf(Op& op) {
  const bool positive = op.integer("detect_positive", 1) != 0, negatives = op.integer("detect_negative", 1) != 0;
  constexpr double kInf = __builtin_huge_val();
  return test(op, [=](double x) { return (positive && x == kInf) || (negatives && x == -kInf); });
}
Result<void> bitwise_not(Op& op) {
  return map_exact(op, [](auto x) {
    if constexpr (std::is_integral_v<decltype(x)>)
      return ~x;
    else
      return x;
  });
}

// Between bounds that only a run knows, and of whole numbers.
Result<void> any_clip(Op& op) {
  const Value& x = op.in(0);
  const bool by_input = op.opset >= 11;
  for (std::size_t i = 1; i < 3; ++i)
    if (by_input && op.has(i) && (op.in(i).elements() != 1 || op.in(i).type != x.type))
      return op.refuse(Code::ShapeMismatch, "a bound of {} {}", name_of(op.in(i).type), text_of(op.in(i).dims));
  LOOM_TRY(Value* const y, op.out_like(0, x));
  if (op.measures()) return {};
  with_store(store_of(x.type), [&]<class T>(T) {
    const auto bound = [&](std::size_t i, std::string_view key, bool& has) {
      has = by_input ? op.has(i) : op.has_attribute(key);
      return !has ? T{} : by_input ? op.in(i).as<T>()[0] : stored<T>(op.number(key, 0));
    };
    bool has_low = false, has_high = false;
    const T low = bound(1, "min", has_low), high = bound(2, "max", has_high);
    for_elements(op.exec, x.elements(), [&](std::size_t first, std::size_t n) {
      for (std::size_t i = first; i < first + n; ++i) {
        T v = x.as<T>()[i];
        v = has_low && v < low ? low : v;
        y->as<T>()[i] = has_high && v > high ? high : v;
      }
    });
  });
  return {};
}

Result<void> cast_to(Op& op, Type type) {
  const Value& x = op.in(0);
  if (!is_known(type)) return op.refuse(Code::Unsupported, "to {}", name_of(type));
  if (!is_known(x.type)) return op.refuse(Code::Unsupported, "from {}", name_of(x.type));
  LOOM_TRY(Value* const y, op.out(0, type, x.dims));
  op.is_first_input = type == x.type;
  with_store(store_of(x.type), [&]<class From>(From) {
    with_store(store_of(type), [&]<class To>(To) {
      for_elements(op.exec, x.elements(), [&](std::size_t first, std::size_t n) {
        for (std::size_t i = first; i < first + n; ++i) {
          const From v = x.as<From>()[i];
          if (type == Type::boolean)
            y->as<To>()[i] = static_cast<To>(v != From{} ? 1 : 0);
          else if constexpr (std::is_integral_v<To> && !std::is_integral_v<From>)
            y->as<To>()[i] = stored<std::int64_t>(static_cast<double>(v));
          else if constexpr (std::is_integral_v<From> && !std::is_integral_v<To>)
            y->as<To>()[i] = static_cast<To>(x.type == Type::u64 ? static_cast<To>(static_cast<std::uint64_t>(v))
                                                                 : static_cast<To>(v));
          else
            y->as<To>()[i] = static_cast<To>(v);
        }
      });
    });
  });
  const bool is_small = type == Type::f8e4m3fn || type == Type::f8e5m2;
  if (is_small && op.integer("saturate", 1) == 0 && type != x.type)
    for (std::size_t i = 0; i < y->elements() && !op.measures(); ++i)
      y->as<float>()[i] = rounded_without_saturation(type, y->as<float>()[i]);
  else if (!op.measures())
    round_to_type(*y);
  return {};
}
Result<void> cast(Op& op) {
  const std::int64_t to = op.integer("to", 0);
  return cast_to(op, to >= 0 && to < 256 ? static_cast<Type>(to) : Type::none);
}
Result<void> cast_like(Op& op) { return cast_to(op, op.in(1).type); }

// In inference nothing is dropped.
Result<void> dropout(Op& op) {
  const Value& x = op.in(0);
  if (op.has(2)) {
    LOOM_TRY(const auto training, op.ints(2));
    double ratio = 0.5;
    if (op.has(1)) {
      LOOM_TRY(ratio, op.known_number(1));
    }
    if (!training.empty() && training[0] != 0 && ratio != 0) return op.refuse(Code::Unsupported, "in training");
  }
  LOOM_TRY(Value* const y, op.out_like(0, x));
  if (!op.wants(1)) {
    op.is_first_input = true;
    return {};
  }
  if (!op.measures()) std::copy_n(x.as<std::byte>(), x.bytes(), y->as<std::byte>());
  LOOM_TRY(Value* const mask, op.out(1, Type::boolean, x.dims));
  if (!op.measures()) std::fill_n(mask->as<std::int64_t>(), mask->elements(), 1);
  return {};
}

}  // namespace

std::span<const OpRow> elementwise_rows() {
  static constexpr std::array kRows{
      OpRow{"Abs", formula<whole_absolute>},
      OpRow{"Neg", formula<whole_negative>},
      OpRow{"Sign", sign},
      OpRow{"Ceil", function<ceil64>},
      OpRow{"Floor", function<floor64>},
      OpRow{"Round", function<nearest_even>},
      OpRow{"Sqrt", formula<>},
      OpRow{"Reciprocal", formula<>},
      OpRow{"Exp", formula<>},
      OpRow{"Log", formula<>},
      OpRow{"Sin", function<sin64>},
      OpRow{"Cos", function<cos64>},
      OpRow{"Tan", [](Op& op) { return map(op, [](double x) { return sin64(x) / cos64(x); }); }},
      OpRow{"Asin", function<asin64>},
      OpRow{"Acos", function<acos64>},
      OpRow{"Atan", function<atan64>},
      OpRow{"Sinh", function<sinh64>},
      OpRow{"Cosh", function<cosh64>},
      OpRow{"Asinh", function<asinh64>},
      OpRow{"Acosh", function<acosh64>},
      OpRow{"Atanh", [](Op& op) { return map(op, [](double x) { return (log1p64(x) - log1p64(-x)) / 2; }); }},
      OpRow{"Tanh", formula<>},
      OpRow{"Sigmoid", formula<>},
      OpRow{"Erf", formula<function<erf64>>},
      OpRow{"Relu", formula<whole_relu>},
      OpRow{"LeakyRelu", formula<>},
      OpRow{"Elu", elu},
      OpRow{"Celu", celu},
      OpRow{"Selu", selu},
      OpRow{"Softplus", function<softplus64>},
      OpRow{"Softsign", formula<>},
      OpRow{"HardSigmoid", formula<>},
      OpRow{"HardSwish", formula<>},
      OpRow{"Mish", formula<>},
      OpRow{"Gelu", formula<>},
      OpRow{"Swish", swish},
      OpRow{"ThresholdedRelu", thresholded_relu},
      OpRow{"Shrink", shrink},
      OpRow{"Not", not_of},
      OpRow{"IsNaN", is_nan},
      OpRow{"IsInf", is_inf},
      OpRow{"BitwiseNot", bitwise_not},
      OpRow{"Clip", formula<any_clip>},
      OpRow{"Cast", cast},
      OpRow{"CastLike", cast_like, false, 2},
      OpRow{"Dropout", dropout},
      OpRow{"Identity", identity, true},
  };
  return kRows;
}

}  // namespace loom::graph
