#include "ops/elementwise/elementwise.h"

#include "ops/op_test.h"

namespace loom::op_test::of_elementwise {
namespace {

// f(a, b), element by element, snapped; `run` is the op.
template <class T, class Run, class F>
void expect_elements(Run run, F f) {
  for (const std::size_t n : {1u, 15u, 17u, 65u, 1003u, 70001u}) {
    const std::vector<T> a = special_values<T>(n, 1), b = special_values<T>(n, 2, 3);
    std::vector<T> wanted(n);
    for (std::size_t i = 0; i < n; ++i) wanted[i] = snapped<T>(f(a[i], b[i]));
    const std::vector<T> found = everywhere(n == kShared, [&](const Exec& exec) {
      std::vector<T> y(n);
      run(exec, tensor(a, 1, n), tensor(b, 1, n), tensor(y, 1, n));
      return y;
    });
    EXPECT_TRUE(same(found, wanted)) << n;
  }
}

template <class T>
void check_arithmetic() {
  expect_elements<T>(add, [](T a, T b) { return a + b; });
  expect_elements<T>(multiply, [](T a, T b) { return a * b; });
  const auto by = [](auto op) {
    return [op](const Exec& exec, ConstTensor a, ConstTensor, Tensor y) { op(exec, a, 0.3, y); };
  };
  expect_elements<T>(by(scale), [](T a, T) { return a * static_cast<T>(0.3); });
  expect_elements<T>(by(divide), [](T a, T) { return a / static_cast<T>(0.3); });
  expect_elements<T>(by([](const Exec& exec, ConstTensor, double v, Tensor y) { fill(exec, y, v); }),
                     [](T, T) { return static_cast<T>(0.3); });
  expect_elements<T>(by([](const Exec& exec, ConstTensor, double, Tensor y) { fill_zero(exec, y); }),
                     [](T, T) { return T{0}; });
}
LOOM_OP_TEST(Elementwise, N_1_2_sums_products_and_fills_by_definition, check_arithmetic)

template <class T>
void check_rows() {
  constexpr std::size_t kRows = 301, kCols = 117;
  const std::vector<T> x = special_values<T>(kRows * kCols, 1), row = values<T>(kCols, 2);
  std::vector<T> wanted(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) wanted[i] = snapped<T>(x[i] + row[i % kCols]);
  EXPECT_TRUE(same(everywhere(true,
                              [&](const Exec& exec) {
                                std::vector<T> y(x.size());
                                add_to_rows(exec, tensor(x, kRows, kCols), row.data(), tensor(y, kRows, kCols));
                                return y;
                              }),
                   wanted));
}
LOOM_OP_TEST(Elementwise, a_row_is_added_to_each, check_rows)

// Copies keep every bit, also of what snap would change; conversions round once.
template <class T>
void check_copies() {
  for (const std::size_t n : {1u, 17u, 70001u}) {
    const std::vector<T> x = special_values<T>(n, 3);
    EXPECT_TRUE(same(everywhere(n == kShared,
                                [&](const Exec& exec) {
                                  std::vector<T> y(n);
                                  copy(exec, tensor(x, 1, n), tensor(y, 1, n));
                                  return y;
                                }),
                     x));
    std::vector<OtherElement<T>> wanted(x.begin(), x.end());
    EXPECT_TRUE(same(everywhere(n == kShared,
                                [&](const Exec& exec) {
                                  std::vector<OtherElement<T>> y(n);
                                  convert(exec, tensor(x, 1, n), tensor(y, 1, n));
                                  return y;
                                }),
                     wanted));
  }
}
LOOM_OP_TEST(Elementwise, copies_keep_bits_and_conversions_round_once, check_copies)

// Engine 3.2 with the C library's functions.
double value_of(Activation kind, double x) {
  const double s = 1 / (1 + std::exp(-x)), soft = std::log1p(std::exp(x));
  switch (kind) {
    case Activation::Linear: return x;
    case Activation::Relu: return std::max(x, 0.0);
    case Activation::Silu: return x * s;
    case Activation::Gelu: return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case Activation::Tanh: return std::tanh(x);
    case Activation::Sigmoid: return s;
    case Activation::LeakyRelu: return x > 0 ? x : 0.01 * x;
    case Activation::Relu2: return x > 0 ? x * x : 0;
    case Activation::GeluExact: return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
    case Activation::Softplus: return soft;
    case Activation::Mish: return x * std::tanh(soft);
    case Activation::HardSigmoid: return std::clamp(x / 6 + 0.5, 0.0, 1.0);
    case Activation::HardSwish: return x * std::clamp(x / 6 + 0.5, 0.0, 1.0);
    case Activation::HardTanh: return std::clamp(x, -1.0, 1.0);
    case Activation::Elu: return x > 0 ? x : std::expm1(x);
    case Activation::Selu: return 1.0507009873554805 * (x > 0 ? x : 1.6732632423543772 * std::expm1(x));
    case Activation::Relu6: return std::clamp(x, 0.0, 6.0);
    case Activation::Softsign: return x / (1 + std::abs(x));
    case Activation::QuickGelu: return x / (1 + std::exp(-1.702 * x));
    case Activation::Sign: return x >= 0 ? 1 : -1;
    case Activation::Step: return x >= 0 ? 1 : 0;
  }
  return 0;
}

template <class T>
void check_activations() {
  for (std::size_t kind = 0; kind < kNumActivations; ++kind) {
    const auto activation = static_cast<Activation>(kind);
    SCOPED_TRACE(name(activation));
    const bool jumps = activation == Activation::Sign || activation == Activation::Step;
    for (const std::size_t n : {1u, 17u, 70001u}) {
      const std::vector<T> x = values<T>(n, 4, 8), dy = values<T>(n, 5);
      const std::vector<T> found = everywhere(n == kShared, [&](const Exec& exec) {
        std::vector<T> y(n), dx(n);
        activate(exec, activation, tensor(x, 1, n), tensor(y, 1, n));
        activate_backward(exec, activation, tensor(x, 1, n), tensor(dy, 1, n), tensor(dx, 1, n));
        return joined({y, dx});
      });
      std::vector<double> wanted;
      for (const T v : x) wanted.push_back(value_of(activation, static_cast<double>(v)));
      for (std::size_t i = 0; i < n; ++i) {
        const double v = static_cast<double>(x[i]), h = 1e-6;
        const double kink =
            std::min({std::abs(v), std::abs(std::abs(v) - 1), std::abs(std::abs(v) - 3), std::abs(v - 6)});
        const double slope =
            jumps ? (std::abs(v) < 1 ? 1 : 0) : (value_of(activation, v + h) - value_of(activation, v - h)) / (2 * h);
        // A difference does not give the slope at a kink.
        wanted.push_back(kink < 2 * h ? static_cast<double>(found[n + i]) : slope * static_cast<double>(dy[i]));
      }
      EXPECT_TRUE(near(found, wanted, sizeof(T) == 8 ? 3e-9 : 2e-6)) << n;
    }
  }
}
LOOM_OP_TEST(Elementwise, L_10_L_12_activations_and_their_slopes, check_activations)

template <class T>
void check_gated() {
  for (const std::size_t n : {1u, 257u, 70001u}) {
    const std::vector<T> gate = values<T>(n, 6, 4), up = values<T>(n, 7), dy = values<T>(n, 8);
    const ActivationFn fn = Activation::Silu;
    const auto pool = ThreadPool::create(1).value();
    Arena arena;
    const Exec plain{*pool, *kernels_for(usable_isas().front()).value(), arena};
    std::vector<T> active(n), wanted(3 * n), ones(n, T{1}), slope(n);
    activate(plain, fn, tensor(gate, 1, n), tensor(active, 1, n));
    for (std::size_t i = 0; i < n; ++i) slope[i] = snapped<T>(dy[i] * up[i]);
    activate_backward(plain, fn, tensor(gate, 1, n), tensor(slope, 1, n), tensor(slope, 1, n));
    for (std::size_t i = 0; i < n; ++i) {
      wanted[i] = snapped<T>(active[i] * up[i]);
      wanted[n + i] = slope[i];
      wanted[2 * n + i] = snapped<T>(dy[i] * active[i]);
    }
    EXPECT_TRUE(same(everywhere(n == kShared,
                                [&](const Exec& exec) {
                                  std::vector<T> y(n), dgate(n), dup(n);
                                  gated(exec, fn, tensor(gate, 1, n), tensor(up, 1, n), tensor(y, 1, n));
                                  gated_backward(exec, fn, tensor(gate, 1, n), tensor(up, 1, n), tensor(dy, 1, n),
                                                 tensor(dgate, 1, n), tensor(dup, 1, n));
                                  return joined({y, dgate, dup});
                                }),
                     wanted))
        << n;
  }
}
LOOM_OP_TEST(Elementwise, gates_are_activations_and_products, check_gated)

}  // namespace
}  // namespace loom::op_test::of_elementwise
