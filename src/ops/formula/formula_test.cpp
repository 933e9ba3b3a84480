#include "ops/formula/formula.h"

#include "ops/op_test.h"

namespace loom::op_test::of_formula {
namespace {

using Dims = std::vector<std::size_t>;

FormulaStep step(FormulaKind kind, int a, int b = 0, double low = 0, double high = 0) {
  FormulaStep s;
  s.kind = kind, s.a = static_cast<std::uint8_t>(a), s.b = static_cast<std::uint8_t>(b), s.low = low, s.high = high;
  return s;
}
constexpr int result(int i) { return static_cast<int>(kFormulaInputs) + i; }

template <class T>
T larger(T a, T b) {
  return a != a ? a : b != b ? b : a < b ? b : a;
}
template <class T>
T smaller(T a, T b) {
  return a != a ? a : b != b ? b : b < a ? b : a;
}

// One step by the words of the header; what Activate gives is tested where it is defined.
template <class T>
T wanted_of(const FormulaStep& s, T a, T b) {
  const T low = static_cast<T>(s.low), high = static_cast<T>(s.high);
  switch (s.kind) {
    case FormulaKind::Add: return a + b;
    case FormulaKind::Subtract: return a - b;
    case FormulaKind::Multiply: return a * b;
    case FormulaKind::Divide: return a / b;
    case FormulaKind::Larger: return larger(a, b);
    case FormulaKind::Smaller: return smaller(a, b);
    case FormulaKind::Clip: a = a < low ? low : a; return a > high ? high : a;
    case FormulaKind::HardSigmoid: {
      const T y = static_cast<T>(low * a) + high;
      return y > 1 ? T{1} : y > 0 ? y : y == y ? T{0} : y;
    }
    case FormulaKind::Negate: return -a;
    case FormulaKind::Size: return std::abs(a);
    case FormulaKind::Square: return a * a;
    case FormulaKind::Root: return std::sqrt(a);
    case FormulaKind::Inverse: return 1 / a;
    case FormulaKind::Exp: return exp_of(a);
    case FormulaKind::Log: return log_of(a);
    case FormulaKind::Erf:
      if constexpr (sizeof(T) == 8)
        return erf64(a);
      else
        return first_lane(erf(splat(a)));
    case FormulaKind::Activate: return tanh_of(a);
  }
  return a;
}

template <class T>
struct Input {
  std::vector<T> data;
  Dims strides;
};
// A tensor of these axes, of extent 1 where it is stretched.
template <class T>
Input<T> input(const Dims& own, std::uint32_t site, double size = 3) {
  Input<T> in;
  std::size_t n = 1;
  in.strides.assign(own.size(), 0);
  for (std::size_t axis = own.size(); axis-- > 0; n *= own[axis])
    if (own[axis] != 1) in.strides[axis] = n;
  in.data = special_values<T>(n, site, size);
  return in;
}

template <class T>
void expect_formula(const std::vector<FormulaStep>& steps, const std::vector<Input<T>>& inputs, const Dims& dims) {
  const std::optional<Formula> formula = Formula::create(steps);
  ASSERT_TRUE(formula);
  std::size_t n = 1;
  for (const std::size_t d : dims) n *= d;
  std::vector<T> wanted(n);
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<T> values(kFormulaInputs);
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      std::size_t rest = i, at = 0;
      for (std::size_t axis = dims.size(); axis-- > 0; rest /= dims[axis])
        at += rest % dims[axis] * inputs[k].strides[axis];
      values[k] = inputs[k].data[at];
    }
    for (const FormulaStep& s : steps) values.push_back(snapped(wanted_of<T>(s, values[s.a], values[s.b])));
    wanted[i] = values.back();
  }
  std::vector<FormulaInput> given;
  for (const Input<T>& in : inputs) given.push_back({in.data.data(), in.strides});
  EXPECT_TRUE(same(everywhere(n * steps.size() >= kShared,
                              [&](const Exec& exec) {
                                std::vector<T> y(n);
                                evaluate(exec, *formula, given, dims, exec.rehearsal() ? nullptr : y.data(),
                                         element_of<T>);
                                return y;
                              }),
                   wanted))
      << steps.size() << " steps, " << n << " elements in " << dims.size() << " axes";
}

template <class T>
void check_every_kind() {
  for (int kind = 0; kind <= static_cast<int>(FormulaKind::Activate); ++kind) {
    FormulaStep s = step(static_cast<FormulaKind>(kind), 0, 0, -0.5, 0.75);
    s.fn = Activation::Tanh;
    const bool two = has_two_operands(s.kind);
    if (two) s.b = 1;
    for (const std::size_t n : kSizes) {
      SCOPED_TRACE(testing::Message() << "kind " << kind << ", " << n);
      std::vector<Input<T>> inputs{input<T>({n}, 1)};
      if (two) inputs.push_back(input<T>({n}, 2));
      expect_formula<T>({s}, inputs, {n});
      // One number for all, on either side and on both.
      inputs[0] = input<T>({1}, 5);
      expect_formula<T>({s}, inputs, {n});
      if (!two) continue;
      inputs[1] = input<T>({1}, 6);
      expect_formula<T>({s}, inputs, {n});
      inputs[0] = input<T>({n}, 3);
      expect_formula<T>({s}, inputs, {n});
    }
  }
}
LOOM_OP_TEST(Formula, every_kind_of_step_by_its_words, check_every_kind)

// x * clip(x + 3, 0, 6) / 6 * scale + shift: a hard swish with a scale, as files spell it.
std::vector<FormulaStep> swish() {
  return {step(FormulaKind::Add, 0, 1),
          step(FormulaKind::Clip, result(0), 0, 0, 6),
          step(FormulaKind::Multiply, 0, result(1)),
          step(FormulaKind::Divide, result(2), 2),
          step(FormulaKind::Multiply, 3, result(3)),
          step(FormulaKind::Add, result(4), 4)};
}

template <class T>
void check_chains() {
  // Whole planes, channels of long and of short rows, rows, single numbers; sizes that threads share.
  const std::vector<std::vector<Dims>> shapes{
      {{2, 5, 7, 9}, {1, 5, 1, 1}, {1, 1, 1, 1}, {1, 5, 1, 1}, {2, 5, 1, 1}},
      {{2, 3, 70, 3}, {1, 3, 1, 1}, {1, 1, 1, 3}, {2, 1, 70, 1}, {1, 1, 1, 1}},
      {{1, 24, 48, 80}, {1, 24, 1, 1}, {1, 1, 1, 1}, {1, 24, 1, 1}, {1, 24, 48, 1}},
      {{30, 12, 384}, {1, 1, 384}, {1, 1, 1}, {30, 1, 1}, {1, 12, 384}},
      {{5, 1, 3}, {1, 1, 3}, {5, 1, 1}, {5, 1, 3}, {1, 1, 1}},
      {{1}, {1}, {1}, {1}, {1}}};
  for (const std::vector<Dims>& own : shapes) {
    std::vector<Input<T>> inputs;
    for (std::size_t k = 0; k < own.size(); ++k) inputs.push_back(input<T>(own[k], static_cast<std::uint32_t>(k)));
    expect_formula<T>(swish(), inputs, own[0]);
  }
  expect_formula<T>({step(FormulaKind::Add, 0, 1)}, {input<T>({4, 1, 300, 1}, 1), input<T>({1, 60, 1, 1}, 2)},
                    {4, 60, 300, 1});
  expect_formula<T>({step(FormulaKind::Negate, 0)}, {input<T>({}, 2)}, {});
}
LOOM_OP_TEST(Formula, steps_keep_the_bits_of_one_after_the_other, check_chains)

TEST(Formula, says_where_it_has_too_many_steps_or_results) {
  std::vector<FormulaStep> steps(kFormulaSteps, step(FormulaKind::Square, 0));
  for (std::size_t i = 1; i < steps.size(); ++i)
    steps[i].a = static_cast<std::uint8_t>(result(static_cast<int>(i) - 1));
  EXPECT_TRUE(Formula::create(steps));
  steps.push_back(steps.back());
  EXPECT_FALSE(Formula::create(steps));
  EXPECT_FALSE(Formula::create({}));
  // Seven results that are all read at the end.
  const auto waiting = [](int n) {
    std::vector<FormulaStep> list;
    for (int i = 0; i < n; ++i) list.push_back(step(FormulaKind::Square, 0));
    for (int i = 0; i + 1 < n; ++i)
      list.push_back(step(FormulaKind::Add, i == 0 ? result(0) : result(n + i - 1), result(i + 1)));
    return list;
  };
  EXPECT_TRUE(Formula::create(waiting(static_cast<int>(kFormulaSlots))));
  EXPECT_FALSE(Formula::create(waiting(static_cast<int>(kFormulaSlots) + 1)));
}

}  // namespace
}  // namespace loom::op_test::of_formula
