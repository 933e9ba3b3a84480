#include "ops/gpu_test.h"
#include "ops/permute/permute.h"

namespace loom::op_test::of_steps {
namespace {

struct Case {
  std::vector<std::size_t> extents, steps;
  std::size_t start = 0, elements = 0;
};

// Columns, axes that go back, ones that stay, and more of them than a shape has.
TEST(Gpu, elements_taken_by_steps_have_the_bits_of_the_cpu) {
  LOOM_NEEDS_GPU_DEVICE(device);
  constexpr std::size_t kBack = ~std::size_t{0};  // -1
  const Case cases[] = {{{7, 130}, {1, 7}, 0, 910},
                        {{3, 65}, {65, kBack}, 64, 195},
                        {{4, 5, 6}, {0, 0 - std::size_t{6}, 2}, 24, 40},
                        {{1}, {1}, 3, 9},
                        {{2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 3}, {48, 1, 24, 1, 12, 1, 6, 1, 3, 1, 1}, 0, 96}};
  for (const Case& c : cases) {
    SCOPED_TRACE(fmt::format("{}", fmt::join(c.extents, " ")));
    std::size_t n = 1;
    for (const std::size_t extent : c.extents) n *= extent;
    const Values in[] = {{1, c.elements, special_values<float>(c.elements, 1)}};
    expect_equal(*device, in, 1, n, [&](const Exec& exec, Inputs t, Tensor y) {
      take_by_steps(exec, t[0], c.start, c.extents, c.steps, y.data);
    });
    // On the host the result follows from the indices.
    const auto got = run(nullptr, in, 1, n, [&](const Exec& exec, Inputs t, Tensor y) {
      take_by_steps(exec, t[0], c.start, c.extents, c.steps, y.data);
    });
    for (std::size_t i = 0; i < n; ++i) {
      std::size_t at = c.start, rest = i;
      for (std::size_t axis = c.extents.size(); axis-- > 0; rest /= c.extents[axis])
        at += rest % c.extents[axis] * c.steps[axis];
      EXPECT_EQ(std::bit_cast<std::uint32_t>(got[i]), std::bit_cast<std::uint32_t>(in[0].numbers[at])) << i;
    }
  }
}

}  // namespace
}  // namespace loom::op_test::of_steps
