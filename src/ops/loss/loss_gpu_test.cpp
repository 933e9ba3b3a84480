#include "ops/gpu_test.h"
#include "ops/loss/element_loss.h"
#include "ops/loss/softmax_loss.h"

namespace loom {
namespace {

using op_test::expect_equal;
using op_test::Inputs;
using op_test::values;
using op_test::Values;

TEST(Gpu, losses_of_elements_have_the_bits_of_the_cpu) {
  LOOM_NEEDS_GPU_DEVICE(device);
  const std::size_t rows = 6;
  const double weights[] = {1, 0.25, 0};
  for (const std::size_t cols : {1, 7, 2500})
    for (std::size_t kind = 0; kind < kNumElementLosses; ++kind) {
      SCOPED_TRACE(fmt::format("loss {}, {} columns", kind, cols));
      Values inputs[] = {{rows, cols, values<float>(rows * cols, 1, 3)}, {rows, cols, values<float>(rows * cols, 2)}};
      const auto loss = static_cast<ElementLoss>(kind);
      if (loss == ElementLoss::CrossEntropy || loss == ElementLoss::Bce || loss == ElementLoss::KlDiv)
        for (Values& v : inputs)  // probabilities
          for (float& p : v.numbers) p = std::abs(p) / 3;
      expect_equal(*device, inputs, 1, 2 * rows * (cols + 1), [&](const Exec& exec, Inputs in, Tensor y) {
        const Tensor value{y.data, rows, 1, Element::f32}, slope{value.row(rows), rows, cols, Element::f32},
            own{slope.row(rows), rows, 1, Element::f32}, alone{own.row(rows), rows, cols, Element::f32};
        element_loss(exec, loss, 0.8, in[0], in[1], {.divisor = 33}, value, slope);
        element_loss(exec, loss, 0.8, in[0], in[1], {.weights = weights, .rows_per_weight = 2, .divisor = 7}, own,
                     alone);
      });
    }
}

TEST(Gpu, softmax_crossentropy_has_the_bits_of_the_cpu) {
  LOOM_NEEDS_GPU_DEVICE(device);
  const std::size_t rows = 9;
  for (const std::size_t cols : {2, 10, 2500}) {
    SCOPED_TRACE(cols);
    const Values inputs[] = {{rows, cols, values<float>(rows * cols, 1, 12)},
                             {rows, cols, values<float>(rows * cols, 2)}};
    std::vector<std::int64_t> classes;
    for (std::size_t r = 0; r < rows; ++r) classes.push_back(static_cast<std::int64_t>(r * 7 % cols));
    std::vector<double> weights;
    for (std::size_t c = 0; c < cols; ++c) weights.push_back(0.1 * static_cast<double>(c % 5));
    const SoftmaxTargets all[] = {{.classes = classes},
                                  {.classes = classes, .ignore_index = classes[3], .class_weights = weights},
                                  {.classes = classes, .ignore_index = classes[4], .label_smoothing = 0.1},
                                  {.values = {}, .class_weights = weights, .label_smoothing = 0.2}};
    for (const SoftmaxTargets& each : all)
      expect_equal(*device, inputs, 1, rows * (cols + 1), [&](const Exec& exec, Inputs in, Tensor y) {
        const Tensor value{y.data, rows, 1, Element::f32}, slope{value.row(rows), rows, cols, Element::f32};
        SoftmaxTargets targets = each;
        if (targets.classes.empty()) targets.values = in[1];
        softmax_crossentropy(exec, in[0], targets, {.divisor = 5}, value, slope);
      });
  }
}

}  // namespace
}  // namespace loom
