#include "ops/softmax/softmax.h"

#include "ops/gpu_test.h"

namespace loom {
namespace {

using op_test::expect_equal;
using op_test::Inputs;
using op_test::values;
using op_test::Values;

TEST(Gpu, softmaxes_and_their_gradients_have_the_bits_of_the_cpu) {
  LOOM_NEEDS_GPU_DEVICE(device);
  const std::size_t rows = 5, cols = 3001;
  const Values inputs[] = {{rows, cols, values<float>(rows * cols, 1, 20)},
                           {rows, cols, values<float>(rows * cols, 2)},
                           {rows, cols, values<float>(rows * cols, 3)}};
  const SoftmaxRun whole[] = {{0, cols, 1}}, parts[] = {{0, 1500, 2}, {3000, 1, 1}};
  std::vector<std::uint8_t> listed(cols / 2);
  for (std::size_t i = 0; i < listed.size(); ++i) listed[i] = i % 3 == 0;
  expect_equal(*device, inputs, 8 * rows, cols, [&](const Exec& exec, Inputs in, Tensor y) {
    const auto part = [&](std::size_t i) { return Tensor{y.row(i * rows), rows, cols, Element::f32}; };
    softmax(exec, in[0], 1, whole, part(0));
    softmax_backward(exec, part(0), in[1], 1, whole, part(1));
    softmax(exec, in[0], 0.7, parts, part(2));
    softmax_backward(exec, part(2), in[1], 0.7, parts, part(3));
    masked_softmax(exec, in[0], 2, {.listed = listed, .call = nullptr}, part(4));
    masked_softmax(exec, in[0], 2, {.listed = {}, .call = in[2].data}, part(5));
    add_gumbel_noise(exec, in[0], 7, 3, 9, part(6), 5);
    one_hot_of_largest(exec, in[0], part(7));
  });
}

}  // namespace
}  // namespace loom
