#include "backend/webgpu/gpu_device.h"
#include "backend/webgpu/wgsl/lanes.wgsl.h"
#include "backend/webgpu/wgsl/largest.wgsl.h"
#include "ops/softmax/entmax.wgsl.h"
#include "ops/softmax/shifted.wgsl.h"
#include "ops/softmax/softmax.h"
#include "ops/softmax/softmax_gpu.h"
#include "ops/softmax/sparse.wgsl.h"
#include "ops/softmax/sparse_backward.wgsl.h"
#include "simd/record/math_functions.h"

namespace loom::gpu {
namespace {

// Records a kernel that begins with shift_row().
void record_shifted(const Exec& exec, Kernel kernel, ConstTensor x, double temperature, double factor, Tensor p) {
  kernel.reads("x", x.data)
      .updates("p", p.data)
      .number("cols", x.cols)
      .number("temperature", static_cast<float>(temperature))
      .number("shift_factor", static_cast<float>(factor));
  exec.gpu()->record_row(exec, kernel, x.rows);
}

void sort_rows(const Exec& exec, ConstTensor x, double temperature, bool squares, Tensor p) {
  static const std::string body = joined({wgsl::largest, wgsl::shifted, wgsl::sparse});
  Kernel kernel("sparse_softmax", body, GpuDevice::kRowThreads);
  record_shifted(exec, kernel.fixed("squares", squares), x, temperature, squares ? 0.5 : 1, p);
}

void record_backward(const Exec& exec, ConstTensor p, ConstTensor dy, double temperature, std::size_t by_power,
                     double power, Tensor dx) {
  static const std::string body = recorder::math_function("pow_f") + joined({wgsl::lanes, wgsl::sparse_backward});
  exec.gpu()->record_row(exec,
                         Kernel("sparse_softmax_backward", body, GpuDevice::kRowThreads)
                             .reads("p", p.data)
                             .reads("dy", dy.data)
                             .writes("dx", dx.data)
                             .number("cols", p.cols)
                             .number("temperature", static_cast<float>(temperature))
                             .number("power", static_cast<float>(power))
                             .fixed("by_power", by_power),
                         p.rows);
}

}  // namespace

void sparsemax(const Exec& exec, ConstTensor x, double temperature, Tensor p) {
  sort_rows(exec, x, temperature, false, p);
}

void sparsemax_backward(const Exec& exec, ConstTensor p, ConstTensor dy, double temperature, Tensor dx) {
  record_backward(exec, p, dy, temperature, 0, 0, dx);
}

void entmax(const Exec& exec, ConstTensor x, double temperature, double alpha, Tensor p) {
  if (alpha == 1.5) return sort_rows(exec, x, temperature, true, p);
  static const std::string body =
      recorder::math_function("pow_f") + joined({wgsl::lanes, wgsl::largest, wgsl::shifted, wgsl::entmax});
  Kernel kernel("entmax", body, GpuDevice::kRowThreads);
  record_shifted(exec, kernel.number("power", static_cast<float>(1 / (alpha - 1))), x, temperature, alpha - 1, p);
}

void entmax_backward(const Exec& exec, ConstTensor p, ConstTensor dy, double temperature, double alpha, Tensor dx) {
  record_backward(exec, p, dy, temperature, alpha == 1.5 ? 1 : 2, 2 - alpha, dx);
}

}  // namespace loom::gpu
