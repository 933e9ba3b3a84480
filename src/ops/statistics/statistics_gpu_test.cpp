#include "ops/gpu_test.h"
#include "ops/statistics/statistics.h"

namespace loom {
namespace {

using op_test::expect_equal;
using op_test::Inputs;
using op_test::values;
using op_test::Values;

TEST(Gpu, figures_of_tensors_have_the_bits_of_the_cpu) {
  LOOM_NEEDS_GPU_DEVICE(device);
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<Values> cases = {{1, 3, {nan, nan, nan}}, {1, 4, {1, nan, -2, 3}}, {1, 3, {infinity, 0, 1}}};
  for (const std::size_t n : {1, 17, 1003, 2100, 70001}) {
    cases.push_back({1, n, values<float>(n, 1, 3)});
    cases.push_back({1, n, values<float>(n, 2, 1e-5)});
  }
  for (const Values& x : cases) {
    SCOPED_TRACE(x.cols);
    expect_equal(*device, {&x, 1}, 1, TensorStats::kCount,
                 [](const Exec& exec, Inputs t, Tensor y) { tensor_statistics(exec, t[0], y); });
  }
}

}  // namespace
}  // namespace loom
