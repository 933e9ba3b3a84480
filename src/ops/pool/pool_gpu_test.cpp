#include "ops/gpu_test.h"
#include "ops/pool/pool_cases.h"

namespace loom {
namespace {

using op_test::expect_equal;
using op_test::Inputs;
using op_test::Parts;
using op_test::special_values;
using op_test::values;
using op_test::Values;
using test::PoolCase;
using test::volume;

TEST(Gpu, pools_and_their_gradients_have_the_bits_of_the_cpu) {
  LOOM_NEEDS_GPU_DEVICE(device);
  for (const PoolCase& c : test::kPoolCases)
    for (const bool special : {false, true}) {
      SCOPED_TRACE(fmt::format("{} {}", c.name, special));
      const PoolGeometry& g = c.geometry;
      const PoolGeometry::Axes out = g.out().value();
      const std::size_t inputs = c.planes * volume(g.in), outputs = c.planes * volume(out);
      const auto numbers = special ? special_values<float> : values<float>;
      const Values in[] = {{1, inputs, numbers(inputs, 1, 2)}, {1, outputs, numbers(outputs, 2, 2)}};
      const bool averages = g.dilation == PoolGeometry::Axes{1, 1, 1};
      expect_equal(*device, in, 1, 2 * outputs + 3 * inputs, [&](const Exec& exec, Inputs t, Tensor y) {
        Parts parts(y);
        const auto part = [&](std::size_t n) { return parts.take(1, n); };
        max_pool(exec, g, out, t[0], c.planes, part(outputs));
        max_pool_backward(exec, g, out, t[0], c.planes, t[1], part(inputs));
        if (!averages) return;
        average_pool(exec, g, out, t[0], c.planes, part(outputs));
        average_pool_backward(exec, g, out, c.planes, t[1], part(inputs));
        average_pool_backward(exec, g, out, c.planes, t[1], part(inputs), false);
      });
    }
}

TEST(Gpu, figures_of_planes_have_the_bits_of_the_cpu) {
  LOOM_NEEDS_GPU_DEVICE(device);
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<Values> cases = {{1, 3, {nan, nan, nan}}, {2, 2, {nan, -infinity, -0.0f, 0.0f}}};
  for (const std::size_t cols : {1, 17, 65, 1003, 2100, 33000}) {
    cases.push_back({5, cols, values<float>(5 * cols, 1, 3)});
    cases.push_back({5, cols, special_values<float>(5 * cols, 2, 3)});
  }
  for (const Values& x : cases) {
    SCOPED_TRACE(x.cols);
    expect_equal(*device, {&x, 1}, 2, x.rows, [&](const Exec& exec, Inputs t, Tensor y) {
      mean_of_planes(exec, t[0], y.row(0));
      largest_of_planes(exec, t[0], y.row(1));
    });
  }
}

}  // namespace
}  // namespace loom
