#include "ops/formula/formula.h"
#include "ops/gpu_test.h"

namespace loom {
namespace {

using op_test::expect_equal;
using op_test::Inputs;
using op_test::Values;
using Dims = std::vector<std::size_t>;

FormulaStep step(FormulaKind kind, int a, int b = 0, double low = 0, double high = 0) {
  FormulaStep s;
  s.kind = kind, s.a = static_cast<std::uint8_t>(a), s.b = static_cast<std::uint8_t>(b), s.low = low, s.high = high;
  return s;
}
constexpr int result(int i) { return static_cast<int>(kFormulaInputs) + i; }

// Inputs have the axes of the first, of extent 1 where they are stretched.
void check(gpu::GpuDevice& device, const std::vector<FormulaStep>& steps, const std::vector<Dims>& own) {
  const Formula formula = Formula::create(steps).value();
  std::vector<Values> in;
  std::vector<Dims> strides;
  for (const Dims& extents : own) {
    std::size_t n = 1;
    Dims& stride = strides.emplace_back(extents.size(), 0);
    for (std::size_t axis = extents.size(); axis-- > 0; n *= extents[axis])
      if (extents[axis] != 1) stride[axis] = n;
    Values& x =
        in.emplace_back(Values{1, n, op_test::special_values<float>(n, static_cast<std::uint32_t>(in.size()), 3)});
    for (float& v : x.numbers) v = op_test::snapped(v);
  }
  expect_equal(device, in, 1, in[0].cols, [&](const Exec& exec, Inputs t, Tensor y) {
    std::vector<FormulaInput> given;
    for (std::size_t k = 0; k < own.size(); ++k) given.push_back({t[k].data, strides[k]});
    evaluate(exec, formula, given, own[0], y.data, Element::f32);
  });
}

TEST(Gpu, formulas_of_every_kind_have_the_bits_of_the_cpu) {
  LOOM_NEEDS_GPU_DEVICE(device);
  for (int kind = 0; kind <= static_cast<int>(FormulaKind::Activate); ++kind) {
    SCOPED_TRACE(kind);
    FormulaStep s = step(static_cast<FormulaKind>(kind), 0, 0, -0.5, 0.75);
    s.fn = Activation::Mish;
    if (!has_two_operands(s.kind)) {
      check(*device, {s}, {{7001}});
      continue;
    }
    s.b = 1;
    for (const Dims& other : {Dims{7001}, {1}}) check(*device, {s}, {{7001}, other});
  }
  // x * clip(x + 3, 0, 6) / 6 * scale + shift
  const std::vector<FormulaStep> swish = {step(FormulaKind::Add, 0, 1),
                                          step(FormulaKind::Clip, result(0), 0, 0, 6),
                                          step(FormulaKind::Multiply, 0, result(1)),
                                          step(FormulaKind::Divide, result(2), 2),
                                          step(FormulaKind::Multiply, 3, result(3)),
                                          step(FormulaKind::Add, result(4), 4)};
  for (const std::vector<Dims>& own :
       {std::vector<Dims>{{2, 5, 7, 9}, {1, 5, 1, 1}, {1, 1, 1, 1}, {1, 5, 1, 1}, {2, 5, 1, 1}},
        {{2, 3, 70, 3}, {1, 3, 1, 1}, {1, 1, 1, 3}, {2, 1, 70, 1}, {1, 1, 1, 1}},
        {{30, 12, 384}, {1, 1, 384}, {1, 1, 1}, {30, 1, 1}, {1, 12, 384}},
        {{1}, {1}, {1}, {1}, {1}}}) {
    SCOPED_TRACE(own[0].size());
    check(*device, swish, own);
  }
}

}  // namespace
}  // namespace loom
