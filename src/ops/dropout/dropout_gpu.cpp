#include "backend/webgpu/gpu_device.h"
#include "core/checked.h"
#include "ops/dropout/dropout_gpu.h"
#include "ops/dropout/dropout.wgsl.h"

namespace loom::gpu {

void dropout(const Exec& exec, ConstTensor x, double least, double keep, const RandomStream& stream, Tensor y,
             std::size_t first) {
  const std::size_t elements = x.rows * x.cols;
  exec.gpu()->record(exec,
                     Kernel("dropout", wgsl::dropout)
                         .reads("x", x.data)
                         .writes("y", y.data)
                         .number("elements", elements)
                         .number("first", first)
                         .number("least", static_cast<float>(least))
                         .number("keep_share", static_cast<float>(keep))
                         .number("seed_low", stream.seed)
                         .number("seed_high", stream.seed >> 32)
                         .number("step", stream.step)
                         .number("site", stream.site)
                         .fixed("domain", static_cast<std::size_t>(stream.domain)),
                     ceil_div(elements, Kernel::kThreads));
}

}  // namespace loom::gpu
