#include "ops/magnitude/magnitude.h"

#include "ops/elementwise/elementwise.h"
#include "ops/gpu_test.h"

namespace loom {
namespace {

using op_test::expect_equal;
using op_test::Inputs;
using op_test::values;
using op_test::Values;

TEST(Gpu, magnitudes_have_the_bits_of_the_cpu) {
  LOOM_NEEDS_GPU_DEVICE(device);
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  for (const std::size_t n : {1, 17, 16384, 16385, 70001})
    for (const float last : {0.0f, 1.5f, -0x1p-51f, 3.4e38f, infinity, -infinity, nan}) {
      SCOPED_TRACE(fmt::format("{} elements, the last {}", n, last));
      Values x{1, n, values<float>(n, 1)};
      x.numbers.back() = last;
      expect_equal(*device, {&x, 1}, 2, 1, [&](const Exec& exec, Inputs t, Tensor y) {
        fill(exec, y, 0.5);
        magnitude_bound(exec, t[0], {y.row(0), 1, 1, Element::f32});
        check_finite(exec, t[0], {y.row(1), 1, 1, Element::f32});
      });
    }
  const Values tensors[] = {
      {1, 3, values<float>(3, 1)}, {1, 40000, values<float>(40000, 2)}, {9, 2000, values<float>(18000, 3)}};
  expect_equal(*device, tensors, 1, 4, [&](const Exec& exec, Inputs t, Tensor y) {
    const ConstTensor all[] = {t[0], {t[1].data, 0, 40000, Element::f32}, t[1], t[2]};
    magnitude_bounds(exec, all, y);
  });
}

}  // namespace
}  // namespace loom
