#include "backend/webgpu/gpu_device.h"
#include "core/checked.h"
#include "ops/affine/affine_gpu.h"
#include "ops/affine/affine.wgsl.h"

namespace loom::gpu {

void affine(const Exec& exec, const float* x, std::size_t samples, std::size_t channels, std::size_t inner,
            const float* numbers, float* y) {
  const std::size_t elements = samples * channels * inner;
  exec.gpu()->record(exec,
                     Kernel("affine", wgsl::affine)
                         .reads("x", x)
                         .reads("numbers", numbers)
                         .writes("y", y)
                         .number("elements", elements)
                         .number("channels", channels)
                         .number("inner", inner),
                     ceil_div(elements, Kernel::kThreads));
}

}  // namespace loom::gpu
