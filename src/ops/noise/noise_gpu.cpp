#include "backend/webgpu/gpu_device.h"
#include "core/checked.h"
#include "ops/noise/noise_gpu.h"
#include "ops/noise/noise.wgsl.h"
#include "simd/record/math_functions.h"

namespace loom::gpu {

void normal_noise(const Exec& exec, double scale, const RandomStream& stream, Tensor y) {
  static const std::string body = recorder::math_function("log_f") + recorder::math_function("cos_f") +
                                  recorder::math_function("sin_f") + std::string(wgsl::noise);
  const std::size_t elements = y.rows * y.cols;
  exec.gpu()->record(exec,
                     Kernel("noise", body)
                         .writes("y", y.data)
                         .number("elements", elements)
                         .number("scale", static_cast<float>(scale))
                         .number("seed_low", stream.seed)
                         .number("seed_high", stream.seed >> 32)
                         .number("step", stream.step)
                         .number("site", stream.site)
                         .fixed("domain", static_cast<std::size_t>(stream.domain)),
                     ceil_div(elements, Kernel::kThreads));
}

}  // namespace loom::gpu
