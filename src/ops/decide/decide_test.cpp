#include "ops/decide/decide.h"
#include "ops/gpu_test.h"

namespace loom::op_test::of_decide {
namespace {

std::vector<float> truths(std::size_t n, std::uint32_t site) {
  std::vector<float> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = std::bit_cast<float>(static_cast<std::uint32_t>((i * 7 + site) % 3 == 0));
  return v;
}

// Rows and columns that stretch, and tensors of y's own shape.
TEST(Gpu, decisions_have_the_bits_of_the_cpu) {
  LOOM_NEEDS_GPU_DEVICE(device);
  const std::size_t dims[] = {3, 5, 70};
  const std::size_t whole[] = {350, 70, 1}, row[] = {0, 0, 1}, column[] = {70, 0, 0}, single[] = {0, 0, 0};
  const std::size_t n = 3 * 5 * 70;
  std::vector<float> a = special_values<float>(n, 1), b = special_values<float>(n, 3);
  for (std::size_t i = 0; i < n; i += 5) b[i] = a[i];
  const Values in[] = {{1, n, a}, {1, n, b}, {1, n, truths(n, 1)}, {1, n, truths(n, 2)}};
  for (const std::span<const std::size_t> other :
       {std::span<const std::size_t>(whole), std::span<const std::size_t>(row), std::span<const std::size_t>(column),
        std::span<const std::size_t>(single)})
    expect_equal(*device, in, 1, 11 * n, [&](const Exec& exec, Inputs t, Tensor y) {
      Parts parts(y);
      const auto two = [&](Decision how, std::size_t first) {
        decide(exec, how, std::array{FormulaInput{t[first].data, whole}, FormulaInput{t[first + 1].data, other}}, dims,
               parts.take(n));
      };
      for (const Decision how :
           {Decision::Equal, Decision::Greater, Decision::Less, Decision::GreaterOrEqual, Decision::LessOrEqual})
        two(how, 0);
      for (const Decision how : {Decision::And, Decision::Or, Decision::Xor}) two(how, 2);
      decide(exec, Decision::IsNan, std::array{FormulaInput{t[0].data, whole}}, dims, parts.take(n));
      decide(exec, Decision::Not, std::array{FormulaInput{t[2].data, other}}, dims, parts.take(n));
      decide(exec, Decision::Choose,
             std::array{FormulaInput{t[2].data, other}, FormulaInput{t[0].data, whole}, FormulaInput{t[1].data, other}},
             dims, parts.take(n));
    });
}

}  // namespace
}  // namespace loom::op_test::of_decide
