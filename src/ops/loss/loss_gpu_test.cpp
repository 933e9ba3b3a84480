#include "ops/elementwise/elementwise.h"
#include "ops/gpu_test.h"
#include "ops/loss/direction_loss.h"
#include "ops/loss/element_loss.h"
#include "ops/loss/softmax_loss.h"

namespace loom {
namespace {

using op_test::expect_equal;
using op_test::Inputs;
using op_test::Parts;
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

// Rows that are zeros, too short for the least norm and long beyond all numbers stand among the others.
std::vector<float> directions(std::size_t rows, std::size_t cols, std::uint64_t seed) {
  std::vector<float> x = values<float>(rows * cols, seed, 3);
  std::fill_n(x.begin(), cols, 0.0f);
  for (std::size_t i = cols; i < 2 * cols; ++i) x[i] *= 1e-12f;
  x[2 * cols] = 1e30f;
  return x;
}

TEST(Gpu, losses_of_directions_have_the_bits_of_the_cpu) {
  LOOM_NEEDS_GPU_DEVICE(device);
  std::vector<double> weights;
  for (const std::size_t rows : {5, 67, 131})
    for (const std::size_t cols : {3, 65, 2500}) {
      SCOPED_TRACE(fmt::format("{} rows, {} columns", rows, cols));
      weights.push_back(0.1 * static_cast<double>(rows));
      while (weights.size() != rows) weights.push_back(weights.size() % 4 == 0 ? 0 : 0.3);
      const Values inputs[] = {{rows, cols, directions(rows, cols, 1)}, {rows, cols, values<float>(rows * cols, 2)}};
      expect_equal(*device, inputs, 1, 3 * rows * (cols + 1), [&](const Exec& exec, Inputs in, Tensor y) {
        Parts parts(y);
        for (const auto& [o, t] : {std::pair{in[0], in[1]}, std::pair{in[1], in[0]}}) {
          const Tensor value = parts.take(rows, 1), slope = parts.take(rows, cols);
          cosine_loss(exec, o, t, {.weights = weights, .divisor = 7}, value, slope);
        }
        cosine_loss(exec, in[1], in[1], {.divisor = 7}, parts.take(rows, 1), {});
        copy(exec, in[0], parts.take(rows, cols));
      });
      const Values finite[] = {{rows, cols, values<float>(rows * cols, 3)}, inputs[1]};
      expect_equal(*device, finite, 1, 2 * rows * (2 * cols + 1), [&](const Exec& exec, Inputs in, Tensor y) {
        Parts parts(y);
        const auto take = [&](std::size_t n) { return parts.take(rows, n); };
        const Tensor value = take(1), slope = take(cols), target_slope = take(cols);
        contrastive_loss(exec, in[0], in[1], 0.07, {.weights = weights, .divisor = 5}, value, slope, target_slope);
        contrastive_loss(exec, in[1], in[0], 1, {.divisor = 5}, take(1), {}, take(cols));
        copy(exec, in[1], take(cols));
      });
      weights.clear();
    }
}

TEST(Gpu, the_loss_of_heads_has_the_bits_of_the_cpu) {
  LOOM_NEEDS_GPU_DEVICE(device);
  const std::size_t rows = 67;
  for (const std::vector<std::size_t>& heads :
       {std::vector<std::size_t>{5}, {1, 2, 2, 9, 9, 9, 1}, {2500, 300}, std::vector<std::size_t>(130, 3)}) {
    SCOPED_TRACE(fmt::format("{} heads", heads.size()));
    std::size_t cols = 0;
    std::vector<std::int64_t> classes;
    for (std::size_t r = 0; r < rows; ++r)
      for (const std::size_t n : heads) classes.push_back(static_cast<std::int64_t>(classes.size() % n));
    for (const std::size_t n : heads) cols += n;
    std::vector<float> targets = values<float>(rows * cols, 2), mask = values<float>(rows * heads.size(), 3);
    for (std::size_t i = 0; i + 1 < targets.size(); i += 11) targets[i + 1] = targets[i];  // the first of equals counts
    for (float& m : mask) m += 0.9f;
    const Values inputs[] = {
        {rows, cols, values<float>(rows * cols, 1, 12)}, {rows, cols, targets}, {rows, heads.size(), mask}};
    std::vector<double> weights(rows, 0.7);
    weights[3] = 0;
    expect_equal(*device, inputs, 1, 3 * rows * (cols + 1), [&](const Exec& exec, Inputs in, Tensor y) {
      Parts parts(y);
      const auto loss = [&](const MultiHeadTargets& of, const RowScale& scale) {
        const Tensor value = parts.take(rows, 1), slope = parts.take(rows, cols);
        multi_head_crossentropy(exec, in[0], of, scale, value, slope);
      };
      loss({.heads = heads, .classes = classes}, {.divisor = 5});
      loss({.heads = heads, .classes = classes, .mask = in[2]}, {.weights = weights, .divisor = 5});
      loss({.heads = heads, .values = in[1], .mask = in[2]}, {.divisor = 5});
    });
  }
}

}  // namespace
}  // namespace loom
