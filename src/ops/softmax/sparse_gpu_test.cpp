#include "ops/gpu_test.h"
#include "ops/softmax/softmax.h"

namespace loom {
namespace {

using op_test::expect_equal;
using op_test::Inputs;
using op_test::Parts;
using op_test::values;
using op_test::Values;

constexpr double kAlphas[] = {1.3, 1.5, 2.5};

void check(gpu::GpuDevice& device, const Values& x) {
  const std::size_t rows = x.rows, cols = x.cols;
  const Values in[] = {x, {rows, cols, values<float>(rows * cols, 2, 3)}};
  expect_equal(device, in, 2 * (1 + std::size(kAlphas)) * rows, cols, [&](const Exec& exec, Inputs t, Tensor y) {
    Parts parts(y);
    const auto part = [&] { return parts.take(rows, cols); };
    const Tensor p = part();
    sparsemax(exec, t[0], 0.7, p);
    sparsemax_backward(exec, p, t[1], 0.7, part());
    for (const double alpha : kAlphas) {
      const Tensor q = part();
      entmax(exec, t[0], 0.7, alpha, q);
      entmax_backward(exec, q, t[1], 0.7, alpha, part());
    }
  });
}

TEST(Gpu, sparse_softmaxes_and_their_gradients_have_the_bits_of_the_cpu) {
  LOOM_NEEDS_GPU_DEVICE(device);
  for (const std::size_t cols : {1, 15, 17, 65, 1003, 2100})
    for (const double size : {0.02, 1.0, 30.0}) {  // a wide support, and a narrow one
      if (cols > 2000 && size < 1) continue;       // llvmpipe ends loops after 65 536 turns in all
      SCOPED_TRACE(fmt::format("{} columns of {}", cols, size));
      std::vector<float> x = values<float>(5 * cols, 1, size);
      for (std::size_t i = 0; i < cols; ++i) x[cols + i] = x[cols + i % 3];  // equal entries
      for (std::size_t i = 0; i < cols; ++i) x[2 * cols + i] = 0.25f;
      check(*device, {5, cols, x});
    }
}

TEST(Gpu, rows_without_a_distribution_are_nan_as_on_the_cpu) {
  LOOM_NEEDS_GPU_DEVICE(device);
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  check(*device, {5, 3, {1, nan, 2, infinity, 0, 1, -infinity, -infinity, -infinity, 1, -infinity, 0.5, nan, 1, nan}});
}

}  // namespace
}  // namespace loom
