// Gradients of operations that work element by element, by their derivatives: those of activations are ops/elementwise,
// others are computed in f64 and rounded once. Where an operation is not smooth they are PyTorch's.

#include <algorithm>

#include "graph/gradient_ops.h"
#include "ops/elementwise/elementwise.h"
#include "ops/gemm/gemm.h"
#include "simd/math64.h"

namespace loom::graph {

void sum_to(const Exec& exec, const Value& from, const Value& to) {
  const std::size_t n = to.elements(), rows = n == 0 ? 0 : from.elements() / n;
  const std::size_t lead = from.rank() - to.rank();
  // The first axis of `from` that is not stretched; all after it have to be like it.
  std::size_t first = 0;
  while (first < from.rank() && (first < lead || to.dims[first - lead] == 1)) ++first;
  const bool by_rows = std::equal(from.dims.begin() + static_cast<std::ptrdiff_t>(first), from.dims.end(),
                                  to.dims.begin() + static_cast<std::ptrdiff_t>(first - std::min(first, lead)));
  if (by_rows && first >= lead) {
    const Tensor sums{to.data, 1, n, element_of_value(to)};
    fill_zero(exec, sums);
    add_column_sums(exec, {from.data, rows, n, element_of_value(from)}, 0, to.data);
    return;
  }
  if (exec.rehearsal()) return;
  const auto own = row_major_strides(from.dims);
  Dims kept, summed;
  std::vector<std::size_t> kept_strides, summed_strides;
  for (std::size_t i = 0; i < from.rank(); ++i) {
    const bool is_summed = i < lead || (to.dims[i - lead] == 1 && from.dims[i] != 1);
    (is_summed ? summed : kept).push_back(from.dims[i]);
    (is_summed ? summed_strides : kept_strides).push_back(own[i]);
  }
  std::vector<std::size_t> starts(n), offsets(count(summed));
  walk(kept, kept_strides, [&](std::size_t i, std::size_t at) { starts[i] = at; });
  walk(summed, summed_strides, [&](std::size_t i, std::size_t at) { offsets[i] = at; });
  with_floats(to, [&]<class T>(T) {
    for_rows(exec, n, offsets.size(), [&](std::size_t i) {
      double sum = 0;
      for (const std::size_t at : offsets) sum += static_cast<double>(from.as<T>()[starts[i] + at]);
      to.as<T>()[i] = snap(stored<T>(sum));
    });
  });
}

namespace {

constexpr double kTwoBySqrtPi = 0x1.20dd750429b6dp+0;

double root_of(double x) { return __builtin_sqrt(x); }

// dx = dy * f(x, y).
template <class F>
Result<void> by_derivative(Op& op, F&& f) {
  const Backward b(op);
  LOOM_TRY(Value* const dx, b.dx(0));
  if (op.measures()) return {};
  with_floats(*dx, [&]<class T>(T) {
    const T *const x = b.x(0).as<T>(), *const y = b.y().as<T>(), *const dy = b.dy().as<T>();
    for_elements(op.exec, dx->elements(), [&](std::size_t first, std::size_t n) {
      for (std::size_t i = first; i < first + n; ++i)
        dx->as<T>()[i] =
            snap(stored<T>(static_cast<double>(dy[i]) * f(static_cast<double>(x[i]), static_cast<double>(y[i]))));
    });
  });
  round_to_type(*dx);
  return {};
}

Result<void> activation_gradient(Op& op, const ActivationFn& fn) {
  const Backward b(op);
  LOOM_TRY(Value* const dx, b.dx(0));
  const std::size_t n = dx->elements();
  activate_backward(op.exec, fn, tensor_of(b.x(0), n), tensor_of(b.dy(), n), tensor_of(*dx, n));
  if (!op.measures()) round_to_type(*dx);
  return {};
}

template <Activation Kind>
Result<void> activated(Op& op) {
  return activation_gradient(op, Kind);
}

Result<void> leaky_relu_gradient(Op& op) {
  ActivationFn fn = Activation::LeakyRelu;
  fn.leaky_slope = static_cast<double>(static_cast<float>(op.number("alpha", 0.01)));
  return activation_gradient(op, fn);
}
Result<void> gelu_gradient(Op& op) {
  return activation_gradient(op, op.text("approximate", "none") == "tanh" ? Activation::Gelu : Activation::GeluExact);
}
Result<void> elu_gradient(Op& op) {
  const double alpha = op.number("alpha", 1);
  return by_derivative(op, [=](double x, double) { return x < 0 ? alpha * exp64(x) : 1; });
}
Result<void> celu_gradient(Op& op) {
  const double alpha = op.number("alpha", 1);
  return by_derivative(op, [=](double x, double) { return x < 0 ? exp64(x / alpha) : 1; });
}
Result<void> selu_gradient(Op& op) {
  const double alpha = op.number("alpha", 1.67326319217681884765625),
               gamma = op.number("gamma", 1.05070102214813232421875);
  return by_derivative(op, [=](double x, double) { return gamma * (x > 0 ? 1 : alpha * exp64(x)); });
}
Result<void> swish_gradient(Op& op) {
  const double alpha = op.number("alpha", 1);
  return by_derivative(op, [=](double x, double) {
    const double s = sigmoid64(alpha * x);
    return s + alpha * x * s * (1 - s);
  });
}
Result<void> thresholded_relu_gradient(Op& op) {
  const double alpha = op.number("alpha", 1);
  return by_derivative(op, [=](double x, double) { return x > alpha ? 1.0 : 0.0; });
}
Result<void> shrink_gradient(Op& op) {
  const double lambda = op.number("lambd", 0.5);
  return by_derivative(op, [=](double x, double) { return x < -lambda || x > lambda ? 1.0 : 0.0; });
}
Result<void> hard_sigmoid_gradient(Op& op) {
  const double alpha = op.number("alpha", 0.2), beta = op.number("beta", 0.5);
  return by_derivative(op, [=](double x, double) {
    const double line = alpha * x + beta;
    return line > 0 && line < 1 ? alpha : 0.0;
  });
}

// The bounds belong to the range, as in PyTorch's clamp.
Result<void> clip_gradient(Op& op) {
  const Backward b(op);
  double low = -__builtin_huge_val(), high = __builtin_huge_val();
  if (op.opset < 11) {
    low = op.number("min", low), high = op.number("max", high);
  } else if (!op.measures()) {
    if (b.has_x(1)) low = b.x(1).number(0);
    if (b.has_x(2)) high = b.x(2).number(0);
  }
  return by_derivative(op, [=](double x, double) { return x >= low && x <= high ? 1.0 : 0.0; });
}

Result<void> cast_gradient(Op& op) {
  const Backward b(op);
  LOOM_TRY(Value* const dx, b.dx(0));
  if (op.measures()) return {};
  with_floats(*dx, [&]<class T>(T) {
    for (std::size_t i = 0; i < dx->elements(); ++i)
      dx->as<T>()[i] = snap(store_of(b.dy().type) == Store::f64 ? static_cast<T>(b.dy().as<double>()[i])
                                                                : static_cast<T>(b.dy().as<float>()[i]));
  });
  round_to_type(*dx);
  return {};
}

double number_at(Store store, const void* data, std::size_t i) {
  switch (store) {
    case Store::f32: return static_cast<double>(static_cast<const float*>(data)[i]);
    case Store::f64: return static_cast<const double*>(data)[i];
    default: return static_cast<double>(static_cast<const std::int64_t*>(data)[i]);
  }
}

using Operands = std::array<double, kMostStretched>;

// The gradient of input k of an operation whose inputs stretch to its output: dy * f(inputs, y), summed over what the
// input was stretched to.
template <class F>
Result<void> by_partial(const Backward& b, std::size_t k, F&& f) {
  LOOM_TRY(Value* const dx, b.dx(k));
  if (b.num_ins > kMostStretched)
    return b.op.refuse(Code::Unsupported, "of {} inputs, {} at most", b.num_ins, kMostStretched);
  const Value& y = b.y();
  Value whole = y;
  whole.data = dx->data;
  if (dx->dims != y.dims) whole = b.scratch(y.dims, y.type);
  if (!b.op.measures()) {
    std::vector<std::vector<std::size_t>> strides;
    std::array<Store, kMostStretched> stores{};
    for (std::size_t i = 0; i < b.num_ins; ++i) {
      strides.push_back(stretched_strides(b.x(i).dims, y.dims));
      stores[i] = store_of(b.x(i).type);
    }
    with_floats(y, [&]<class T>(T) {
      for_stretched(b.op.exec, y.dims, strides, [&](std::size_t i, const std::array<std::size_t, kMostStretched>& at) {
        Operands x{};
        for (std::size_t j = 0; j < b.num_ins; ++j) x[j] = number_at(stores[j], b.x(j).data, at[j]);
        const double slope = f(x, static_cast<double>(y.as<T>()[i]));
        whole.as<T>()[i] = snap(stored<T>(static_cast<double>(b.dy().as<T>()[i]) * slope));
      });
    });
  }
  if (dx->dims != y.dims) sum_to(b.op.exec, whole, *dx);
  if (!b.op.measures()) round_to_type(*dx);
  return {};
}

// f(k, inputs, y) is the derivative by input k.
template <class F>
Result<void> by_partials(Op& op, F&& f) {
  const Backward b(op);
  for (std::size_t k = 0; k < b.num_ins; ++k)
    if (b.wants(k)) LOOM_TRY_VOID(by_partial(b, k, [&](const Operands& x, double y) { return f(k, x, y); }));
  return {};
}

Result<void> add_gradient(Op& op) {
  return by_partials(op, [](std::size_t, const Operands&, double) { return 1.0; });
}
Result<void> subtract_gradient(Op& op) {
  return by_partials(op, [](std::size_t k, const Operands&, double) { return k == 0 ? 1.0 : -1.0; });
}
Result<void> multiply_gradient(Op& op) {
  return by_partials(op, [](std::size_t k, const Operands& x, double) { return x[1 - k]; });
}
Result<void> divide_gradient(Op& op) {
  return by_partials(
      op, [](std::size_t k, const Operands& x, double) { return k == 0 ? 1 / x[1] : -(x[0] / x[1]) / x[1]; });
}
// 0^0 has the derivative 0 by its exponent, and by its base where the exponent is 0.
Result<void> power_gradient(Op& op) {
  return by_partials(op, [](std::size_t k, const Operands& x, double y) {
    if (k == 0) return x[1] == 0 ? 0.0 : x[1] == 1 ? 1.0 : x[1] == 2 ? 2 * x[0] : x[1] * pow64(x[0], x[1] - 1);
    return y == 0 || x[0] == 0 ? 0.0 : y * log64(x[0]);
  });
}
Result<void> prelu_gradient(Op& op) {
  return by_partials(op, [](std::size_t k, const Operands& x, double) {
    if (k == 0) return x[0] < 0 ? x[1] : 1.0;
    return x[0] < 0 ? x[0] : 0.0;
  });
}
Result<void> mean_gradient(Op& op) {
  const auto n = static_cast<double>(op.node.outputs.size());
  return by_partials(op, [=](std::size_t, const Operands&, double) { return 1 / n; });
}
// Equal inputs share the gradient.
Result<void> extreme_gradient(Op& op) {
  const std::size_t n = op.node.outputs.size();
  return by_partials(op, [=](std::size_t k, const Operands& x, double y) {
    if (x[k] != y) return 0.0;
    return 1 / static_cast<double>(std::ranges::count(std::span(x).first(n), y));
  });
}

}  // namespace

std::span<const GradientRow> elementwise_gradients() {
  static constexpr std::array kRows{
      GradientRow{"Abs",
                  [](Op& op) {
                    return by_derivative(op, [](double x, double) { return x > 0 ? 1.0 : x < 0 ? -1.0 : 0.0; });
                  }},
      GradientRow{"Neg", [](Op& op) { return by_derivative(op, [](double, double) { return -1.0; }); }},
      GradientRow{"Sqrt", [](Op& op) { return by_derivative(op, [](double, double y) { return 0.5 / y; }); }},
      GradientRow{"Reciprocal", [](Op& op) { return by_derivative(op, [](double, double y) { return -y * y; }); }},
      GradientRow{"Exp", [](Op& op) { return by_derivative(op, [](double, double y) { return y; }); }},
      GradientRow{"Log", [](Op& op) { return by_derivative(op, [](double x, double) { return 1 / x; }); }},
      GradientRow{"Sin", [](Op& op) { return by_derivative(op, [](double x, double) { return cos64(x); }); }},
      GradientRow{"Cos", [](Op& op) { return by_derivative(op, [](double x, double) { return -sin64(x); }); }},
      GradientRow{"Tan", [](Op& op) { return by_derivative(op, [](double, double y) { return 1 + y * y; }); }},
      GradientRow{
          "Asin",
          [](Op& op) { return by_derivative(op, [](double x, double) { return 1 / root_of((1 - x) * (1 + x)); }); }},
      GradientRow{
          "Acos",
          [](Op& op) { return by_derivative(op, [](double x, double) { return -1 / root_of((1 - x) * (1 + x)); }); }},
      GradientRow{"Atan", [](Op& op) { return by_derivative(op, [](double x, double) { return 1 / (1 + x * x); }); }},
      GradientRow{
          "Sinh",
          [](Op& op) { return by_derivative(op, [](double x, double) { return (exp64(x) + exp64(-x)) / 2; }); }},
      GradientRow{
          "Cosh",
          [](Op& op) { return by_derivative(op, [](double x, double) { return (expm1_64(x) - expm1_64(-x)) / 2; }); }},
      GradientRow{"Asinh",
                  [](Op& op) { return by_derivative(op, [](double x, double) { return 1 / root_of(x * x + 1); }); }},
      GradientRow{
          "Acosh",
          [](Op& op) { return by_derivative(op, [](double x, double) { return 1 / root_of((x - 1) * (x + 1)); }); }},
      GradientRow{"Atanh",
                  [](Op& op) { return by_derivative(op, [](double x, double) { return 1 / ((1 - x) * (1 + x)); }); }},
      GradientRow{"Tanh", activated<Activation::Tanh>},
      GradientRow{"Sigmoid", activated<Activation::Sigmoid>},
      GradientRow{
          "Erf",
          [](Op& op) { return by_derivative(op, [](double x, double) { return kTwoBySqrtPi * exp64(-x * x); }); }},
      GradientRow{"Relu", activated<Activation::Relu>},
      GradientRow{"LeakyRelu", leaky_relu_gradient},
      GradientRow{"Elu", elu_gradient},
      GradientRow{"Celu", celu_gradient},
      GradientRow{"Selu", selu_gradient},
      GradientRow{"Softplus", [](Op& op) { return by_derivative(op, [](double x, double) { return sigmoid64(x); }); }},
      GradientRow{"Softsign", activated<Activation::Softsign>},
      GradientRow{"HardSigmoid", hard_sigmoid_gradient},
      GradientRow{"HardSwish", activated<Activation::HardSwish>},
      GradientRow{"Mish", activated<Activation::Mish>},
      GradientRow{"Gelu", gelu_gradient},
      GradientRow{"Swish", swish_gradient},
      GradientRow{"ThresholdedRelu", thresholded_relu_gradient},
      GradientRow{"Shrink", shrink_gradient},
      GradientRow{"Clip", clip_gradient, 1},
      GradientRow{"Cast", cast_gradient},
      GradientRow{"CastLike", cast_gradient, 1},
      GradientRow{"Add", add_gradient},
      GradientRow{"Sub", subtract_gradient},
      GradientRow{"Mul", multiply_gradient},
      GradientRow{"Div", divide_gradient},
      GradientRow{"Pow", power_gradient},
      GradientRow{"PRelu", prelu_gradient},
      GradientRow{"Sum", add_gradient},
      GradientRow{"Mean", mean_gradient},
      GradientRow{"Max", extreme_gradient},
      GradientRow{"Min", extreme_gradient},
  };
  return kRows;
}

}  // namespace loom::graph
