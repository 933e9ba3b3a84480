#include "backend/webgpu/gpu_device.h"
#include "core/checked.h"
#include "ops/slices/move_slices.wgsl.h"
#include "ops/slices/slices_gpu.h"

namespace loom::gpu {

void move_slices(const Exec& exec, Slices s, ConstTensor from, SlicePlace at, Tensor to, SlicePlace target, bool adds) {
  const std::size_t elements = s.count * s.width;
  exec.gpu()->record(exec,
                     Kernel("move_slices", wgsl::move_slices)
                         .reads("from", from.data)
                         .updates("to", to.data)
                         .number("elements", elements)
                         .number("width", s.width)
                         .number("from_offset", at.offset)
                         .number("from_stride", at.stride)
                         .number("from_step", at.step)
                         .number("to_offset", target.offset)
                         .number("to_stride", target.stride)
                         .number("to_step", target.step)
                         .fixed("adds", adds),
                     ceil_div(elements, Kernel::kThreads));
}

}  // namespace loom::gpu
