#include "backend/webgpu/wgsl/lanes.wgsl.h"
#include "ops/loss/cosine_loss.wgsl.h"
#include "ops/loss/row_units.wgsl.h"
#include "ops/loss/direction_loss_gpu.h"
#include "ops/loss/factor.wgsl.h"
#include "ops/loss/row_scale_gpu.h"
#include "ops/loss/unit_rows.wgsl.h"
#include "ops/loss/unit_rows_backward.wgsl.h"

namespace loom::gpu {
namespace {

Kernel of_directions(std::string_view name, std::string_view body, ConstTensor o, ConstTensor t) {
  return Kernel(name, body, GpuDevice::kRowThreads)
      .reads("o", o.data, o.cols)
      .reads("t", t.data, t.cols)
      .number("cols", o.cols)
      .number("least_norm", static_cast<float>(kLeastNorm));
}

}  // namespace

void cosine_loss(const Exec& exec, ConstTensor o, ConstTensor t, const RowScale& scale, Tensor values,
                 Tensor gradient) {
  static const std::string body = joined({wgsl::lanes, wgsl::row_units, wgsl::factor, wgsl::cosine_loss});
  Kernel kernel = of_directions("cosine_loss", body, o, t);
  add_scales(exec, scale, kernel);
  kernel.writes("values", values.data)
      .writes("gradient", gradient.data == nullptr ? values.data : gradient.data)
      .fixed("has_gradient", gradient.data != nullptr);
  exec.gpu()->record(exec, kernel, o.rows);
}

void unit_rows(const Exec& exec, ConstTensor x, Tensor unit, Tensor norm) {
  static const std::string body = joined({wgsl::lanes, wgsl::row_units, wgsl::unit_rows});
  exec.gpu()->record_row(
      exec, of_directions("unit_rows", body, x, x).writes("unit", unit.data, unit.cols).writes("norm", norm.data, 1),
      x.rows);
}

void unit_rows_backward(const Exec& exec, ConstTensor unit, ConstTensor norm, ConstTensor du, Tensor dx) {
  static const std::string body = joined({wgsl::lanes, wgsl::unit_rows_backward});
  exec.gpu()->record_row(exec,
                         Kernel("unit_rows_backward", body, GpuDevice::kRowThreads)
                             .reads("unit", unit.data, unit.cols)
                             .reads("norm", norm.data, 1)
                             .reads("du", du.data, du.cols)
                             .writes("dx", dx.data, dx.cols)
                             .number("cols", dx.cols),
                         dx.rows);
}

}  // namespace loom::gpu
