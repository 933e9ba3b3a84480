#include "backend/webgpu/wgsl/first_largest.wgsl.h"
#include "backend/webgpu/wgsl/lanes.wgsl.h"
#include "backend/webgpu/wgsl/largest.wgsl.h"
#include "core/checked.h"
#include "ops/loss/factor.wgsl.h"
#include "ops/loss/head_classes.wgsl.h"
#include "ops/loss/head_loss.wgsl.h"
#include "ops/loss/head_sums.wgsl.h"
#include "ops/loss/row_scale_gpu.h"
#include "ops/loss/softmax_class_loss.wgsl.h"
#include "ops/loss/softmax_loss_gpu.h"
#include "ops/loss/softmax_loss.wgsl.h"
#include "ops/loss/softmax_sums.wgsl.h"
#include "simd/record/math_functions.h"

namespace loom::gpu {

namespace {

// The text that shaders of losses of logits begin with.
std::string softmax_text() {
  return recorder::math_function("exp_f") + recorder::math_function("log1p_f") +
         joined({wgsl::lanes, wgsl::largest, wgsl::first_largest, wgsl::factor, wgsl::softmax_sums});
}

// Records a kernel for heads of one width that stand beside each other.
void record_heads(const Exec& exec, const Kernel& kernel, std::size_t rows, std::span<const std::size_t> heads) {
  std::size_t first = 0;
  for (std::size_t head = 0, end = 0; head < heads.size(); first += (end - head) * heads[head], head = end) {
    while (end < heads.size() && heads[end] == heads[head]) ++end;
    Kernel each = kernel;
    each.number("heads", heads.size())
        .number("first_head", head)
        .number("first", first)
        .number("width", heads[head])
        .number("count", end - head);
    exec.gpu()->record(exec, each, rows * (end - head));
  }
}

}  // namespace

void softmax_crossentropy(const Exec& exec, ConstTensor x, const SoftmaxTargets& targets,
                          std::span<const float> weights, const RowScale& scale, Tensor values, Tensor gradient) {
  static const std::string of_class = softmax_text() + std::string(wgsl::softmax_class_loss),
                           of_targets = softmax_text() + std::string(wgsl::softmax_loss);
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

void multi_head_crossentropy(const Exec& exec, ConstTensor x, const MultiHeadTargets& targets, const RowScale& scale,
                             Tensor values, Tensor gradient) {
  static const std::string of_targets = joined({wgsl::largest, wgsl::first_largest, wgsl::head_classes}),
                           of_head = recorder::math_function("log_f") + softmax_text() + std::string(wgsl::head_loss);
  const ArenaScope scope(exec.arena);
  const std::size_t heads = targets.heads.size(), cells = x.rows * heads;
  float* const losses = exec.arena.take<float>(cells);
  const void* classes = nullptr;
  if (targets.classes.empty()) {
    auto* const found = exec.arena.take<std::uint32_t>(cells);
    record_heads(exec,
                 Kernel("head_classes", of_targets, GpuDevice::kRowThreads)
                     .reads("x", targets.values.data)
                     .writes("classes", found)
                     .number("cols", x.cols),
                 x.rows, targets.heads);
    classes = found;
  } else {
    const std::vector<std::uint32_t> given(targets.classes.begin(), targets.classes.end());
    classes = exec.gpu()->upload(exec, std::span(given));
  }
  Kernel kernel("head_loss", of_head, GpuDevice::kRowThreads);
  add_scales(exec, scale, kernel);
  kernel.reads("x", x.data)
      .reads("classes", classes)
      .reads("mask", targets.mask.data == nullptr ? x.data : targets.mask.data)
      .writes("losses", losses)
      .writes("gradient", gradient.data == nullptr ? losses : gradient.data)
      .number("cols", x.cols)
      .number("head_floor", static_cast<float>(kHeadFloor))
      .fixed("has_mask", targets.mask.data != nullptr)
      .fixed("has_gradient", gradient.data != nullptr);
  record_heads(exec, kernel, x.rows, targets.heads);
  exec.gpu()->record(exec,
                     Kernel("head_sums", wgsl::head_sums)
                         .reads("losses", losses)
                         .writes("values", values.data)
                         .number("rows", x.rows)
                         .number("heads", heads),
                     ceil_div(x.rows, Kernel::kThreads));
}

}  // namespace loom::gpu
