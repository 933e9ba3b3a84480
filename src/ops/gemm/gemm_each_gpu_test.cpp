#include "ops/gemm/gemm_each.h"
#include "ops/gpu_test.h"

namespace loom::op_test::of_gemm_each {
namespace {

struct Case {
  std::size_t count, m, k, n;
  bool shares_b = false, turns_b = false;
};

// As tensors hold them: a card may take a smaller number for 0, which an infinity shows.
std::vector<float> stored(std::vector<float> v) {
  for (float& x : v) x = snapped(x);
  return v;
}

using Numbers = std::vector<float> (*)(std::size_t, std::uint32_t, double);

void expect_the_bits_of_the_cpu(gpu::GpuDevice& device, Numbers numbers) {
  for (const Case& c : {Case{24, 12, 32, 12}, Case{3, 1, 70, 33}, Case{5, 17, 130, 9, true}, Case{4, 20, 600, 40},
                        Case{6, 33, 8, 17, false, true}, Case{1, 5, 5, 5}}) {
    SCOPED_TRACE(fmt::format("{} of {} {} {}", c.count, c.m, c.k, c.n));
    const std::size_t of_b = c.k * c.n, bs = c.shares_b ? 1 : c.count;
    const Values in[] = {{1, c.count * c.m * c.k, stored(numbers(c.count * c.m * c.k, 1, 1))},
                         {1, bs * of_b, stored(numbers(bs * of_b, 2, 1))}};
    const Op op = [&](const Exec& exec, Inputs t, Tensor y) {
      const Operand b = c.turns_b ? Operand{t[1].data, 1, c.k} : Operand{t[1].data, c.n, 1};
      gemm_each(exec, {{t[0].data, c.k, 1}, c.m * c.k}, {b, c.shares_b ? 0 : of_b}, c.count, c.k, y);
    };
    expect_equal(device, in, c.count * c.m, c.n, op);
    // Each is a product by itself.
    const auto all = run(nullptr, in, c.count * c.m, c.n, op);
    const auto one = run(nullptr, in, c.m, c.n, [&](const Exec& exec, Inputs t, Tensor y) {
      const std::size_t last = c.count - 1;
      const float* const at = t[1].as<float>() + (c.shares_b ? 0 : last * of_b);
      gemm(exec, {t[0].as<float>() + last * c.m * c.k, c.k, 1}, c.turns_b ? Operand{at, 1, c.k} : Operand{at, c.n, 1},
           c.k, y);
    });
    EXPECT_EQ(std::memcmp(all.data() + all.size() - one.size(), one.data(), one.size() * sizeof(float)), 0);
  }
}

TEST(Gpu, many_products_have_the_bits_of_the_cpu) {
  LOOM_NEEDS_GPU_DEVICE(device);
  expect_the_bits_of_the_cpu(*device, values<float>);
}

TEST(Gpu, many_products_of_what_is_not_finite_have_the_bits_of_the_cpu) {
  LOOM_NEEDS_GPU_DEVICE(device);
  expect_the_bits_of_the_cpu(*device, special_values<float>);
}

}  // namespace
}  // namespace loom::op_test::of_gemm_each
