#include <array>

#include "backend/webgpu/gpu_device.h"
#include "core/checked.h"
#include "ops/permute/permute.h"
#include "ops/permute/permute.wgsl.h"

namespace loom::gpu {

void permute(const Exec& exec, const void* x, std::span<const std::size_t> extents, std::span<const std::size_t> steps,
             void* y) {
  std::array<std::uint32_t, 2 * Shape::kMaxRank> axes{};
  std::size_t elements = 1;
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    axes[axis] = static_cast<std::uint32_t>(extents[axis]);
    axes[extents.size() + axis] = static_cast<std::uint32_t>(steps[axis]);
    elements *= extents[axis];
  }
  exec.gpu()->record(exec,
                     Kernel("permute", wgsl::permute)
                         .reads("x", x)
                         .reads("axes", exec.gpu()->upload(exec, std::span<const std::uint32_t>(axes)))
                         .writes("y", y)
                         .number("elements", elements)
                         .fixed("rank", extents.size()),
                     ceil_div(elements, Kernel::kThreads));
}

}  // namespace loom::gpu
