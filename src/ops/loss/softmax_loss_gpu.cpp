#include "backend/webgpu/wgsl/first_largest.wgsl.h"
#include "backend/webgpu/wgsl/lanes.wgsl.h"
#include "backend/webgpu/wgsl/largest.wgsl.h"
#include "ops/loss/row_scale_gpu.h"
#include "ops/loss/softmax_class_loss.wgsl.h"
#include "ops/loss/softmax_loss.h"
#include "ops/loss/softmax_loss.wgsl.h"
#include "ops/loss/softmax_sums.wgsl.h"
#include "simd/record/math_functions.h"

namespace loom::gpu {

void softmax_crossentropy(const Exec& exec, ConstTensor x, const SoftmaxTargets& targets,
                          std::span<const float> weights, const RowScale& scale, Tensor values, Tensor gradient) {
  static const std::string sums = recorder::math_function("exp_f") + recorder::math_function("log1p_f") +
                                  joined({wgsl::lanes, wgsl::largest, wgsl::first_largest, wgsl::softmax_sums});
  static const std::string of_class = sums + std::string(wgsl::softmax_class_loss),
                           of_targets = sums + std::string(wgsl::softmax_loss);
  if (exec.rehearsal()) return;
  GpuDevice& gpu = *exec.gpu();
  const bool by_class = !targets.classes.empty(), smooth = targets.label_smoothing != 0, few = by_class && !smooth;
  Kernel kernel("softmax_loss", few ? of_class : of_targets, GpuDevice::kRowThreads);
  add_scales(exec, scale, kernel);
  std::vector<std::uint32_t> classes(targets.classes.size());
  for (std::size_t r = 0; r < classes.size(); ++r)
    classes[r] =
        targets.ignore_index == targets.classes[r] ? 0xffffffffu : static_cast<std::uint32_t>(targets.classes[r]);
  kernel.reads("x", x.data)
      .reads("weights", weights.empty() ? x.data : gpu.upload(exec, weights))
      .reads(few ? "classes" : "targets",
             by_class ? gpu.upload(exec, std::span<const std::uint32_t>(classes)) : targets.values.data)
      .writes("values", values.data)
      .writes("gradient", gradient.data == nullptr ? values.data : gradient.data)
      .number("cols", x.cols)
      .fixed("has_weights", !weights.empty())
      .fixed("has_gradient", gradient.data != nullptr);
  if (!few)
    kernel.number("keep_share", static_cast<float>(1 - targets.label_smoothing))
        .number("everywhere", static_cast<float>(targets.label_smoothing / static_cast<double>(x.cols)))
        .fixed("by_class", by_class);
  gpu.record(exec, kernel, x.rows);
}

}  // namespace loom::gpu
