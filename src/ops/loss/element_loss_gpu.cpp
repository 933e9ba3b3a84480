#include "backend/webgpu/wgsl/lanes.wgsl.h"
#include "ops/loss/element_loss_gpu.h"
#include "ops/loss/element_loss.wgsl.h"
#include "ops/loss/row_scale_gpu.h"
#include "simd/record/math_functions.h"

namespace loom::gpu {

void element_loss(const Exec& exec, ElementLoss loss, double parameter, ConstTensor o, ConstTensor t,
                  const RowScale& scale, Tensor values, Tensor gradient) {
  static const std::string body = recorder::math_function("exp_f") + recorder::math_function("log_f") +
                                  recorder::math_function("log1p_f") + recorder::math_function("sigmoid_f") +
                                  joined({wgsl::lanes, wgsl::element_loss});
  Kernel kernel("element_loss", body, GpuDevice::kRowThreads);
  add_scales(exec, scale, kernel);
  const auto kind = [](ElementLoss of) { return static_cast<std::size_t>(of); };
  kernel.reads("o", o.data)
      .reads("t", t.data)
      .writes("values", values.data)
      .writes("gradient", gradient.data == nullptr ? values.data : gradient.data)
      .number("cols", o.cols)
      .number("parameter", static_cast<float>(parameter))
      .fixed("has_gradient", gradient.data != nullptr)
      .fixed("kind", kind(loss))
      .fixed("mse", kind(ElementLoss::Mse))
      .fixed("mae", kind(ElementLoss::Mae))
      .fixed("huber", kind(ElementLoss::Huber))
      .fixed("crossentropy", kind(ElementLoss::CrossEntropy))
      .fixed("bce", kind(ElementLoss::Bce))
      .fixed("bce_logits", kind(ElementLoss::BceLogits))
      .fixed("kl_div", kind(ElementLoss::KlDiv))
      .fixed("log_floor_bits", std::bit_cast<std::uint32_t>(static_cast<float>(kLossLogFloor)))
      .fixed("margin_bits", std::bit_cast<std::uint32_t>(static_cast<float>(kProbabilityMargin)));
  exec.gpu()->record(exec, kernel, o.rows);
}

}  // namespace loom::gpu
