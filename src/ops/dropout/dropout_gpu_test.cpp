#include "ops/dropout/dropout.h"

#include "ops/gpu_test.h"

namespace loom {
namespace {

using op_test::expect_equal;
using op_test::Inputs;
using op_test::special_values;
using op_test::Values;

TEST(Gpu, dropout_has_the_bits_of_the_cpu) {
  LOOM_NEEDS_GPU_DEVICE(device);
  const RandomStream stream{0x123456789abcdef, RandomDomain::Dropout, 7, 11};
  for (const auto& [rate, first] : {std::pair<double, std::size_t>{0, 0}, {0.1, 3}, {0.5, 70001}, {0.99, 1}}) {
    SCOPED_TRACE(rate);
    const Values x[] = {{7, 1003, special_values<float>(7 * 1003, 1, 3)}};
    expect_equal(*device, x, 7, 1003, [&, rate = rate, first = first](const Exec& exec, Inputs t, Tensor y) {
      dropout(exec, t[0], rate, stream, y, first);
    });
  }
}

}  // namespace
}  // namespace loom
