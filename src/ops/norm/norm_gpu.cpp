#include "backend/webgpu/gpu_device.h"
#include "backend/webgpu/wgsl/lanes.wgsl.h"
#include "ops/norm/norm.h"
#include "ops/norm/rms_norm.wgsl.h"

namespace loom::gpu {

void rms_norm(const Exec& exec, ConstTensor x, const void* gamma, double eps, Tensor y) {
  static const std::string body = std::string(wgsl::lanes) + std::string(wgsl::rms_norm);
  Kernel kernel("rms_norm", body, GpuDevice::kRowThreads);
  if (x.data == y.data)
    kernel.updates("x", y.data);
  else
    kernel.reads("x", x.data);
  exec.gpu()->record_row(
      exec,
      kernel.reads("gamma", gamma).writes("y", y.data).number("eps", static_cast<float>(eps)).fixed("cols", x.cols),
      x.rows);
}

}  // namespace loom::gpu
