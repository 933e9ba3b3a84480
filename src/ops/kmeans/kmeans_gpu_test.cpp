#include "ops/elementwise/elementwise.h"
#include "ops/gpu_test.h"
#include "ops/kmeans/kmeans.h"

namespace loom {
namespace {

using op_test::expect_equal;
using op_test::Inputs;
using op_test::values;
using op_test::Values;

TEST(Gpu, distances_to_centers_and_their_gradients_have_the_bits_of_the_cpu) {
  LOOM_NEEDS_GPU_DEVICE(device);
  struct Case {
    std::size_t rows, cols, clusters, block;
  };
  for (const auto& [rows, cols, clusters, block] :
       {Case{1, 1, 1, 16}, {37, 17, 5, 16}, {150, 65, 70, 150}, {3, 2100, 9, 2}}) {
    SCOPED_TRACE(fmt::format("{} rows of {}, {} centers", rows, cols, clusters));
    const Values in[] = {{rows, cols, values<float>(rows * cols, 1, 2)},
                         {clusters, cols, values<float>(clusters * cols, 2, 2)},
                         {rows, clusters, values<float>(rows * clusters, 3)},
                         {rows, clusters, values<float>(rows * clusters, 4)},
                         {rows, cols, values<float>(rows * cols, 5)}};
    const std::size_t scores = rows * clusters, inputs = rows * cols, centers = clusters * cols;
    expect_equal(*device, in, 1, scores + inputs + 2 * centers, [&](const Exec& exec, Inputs t, Tensor y) {
      fill(exec, y, 0.25);
      float* at = y.as<float>();
      kmeans_scores(exec, t[0], t[1].data, 0.49, {at, rows, clusters, Element::f32});
      kmeans_input_gradient(exec, t[0], t[1].data, t[2], 0.49, {at + scores, rows, cols, Element::f32});
      at += scores + inputs;
      kmeans_center_gradient(exec, t[0], t[1].data, t[2], t[3], t[4], 0.49, block, at);
      kmeans_center_gradient(exec, t[0], t[1].data, t[2], {}, {}, 0.49, block, at + centers);
    });
  }
}

}  // namespace
}  // namespace loom
