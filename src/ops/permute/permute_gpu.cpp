#include <array>

#include "backend/webgpu/gpu_device.h"
#include "core/checked.h"
#include "ops/permute/permute_gpu.h"
#include "ops/permute/permute.wgsl.h"

namespace loom::gpu {

void permute(const Exec& exec, const void* x, std::span<const std::size_t> extents, std::span<const std::size_t> steps,
             void* y, std::size_t start) {
  constexpr std::size_t kMostAxes = 16;
  LOOM_ASSERT(extents.size() <= kMostAxes);
  std::array<std::uint32_t, 2 * kMostAxes> axes{};
  std::size_t elements = 1;
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    axes[axis] = static_cast<std::uint32_t>(extents[axis]);
    axes[extents.size() + axis] = static_cast<std::uint32_t>(steps[axis]);
    elements *= extents[axis];
  }
  exec.gpu()->record(
      exec,
      Kernel("permute", wgsl::permute)
          .reads("x", x)
          .reads("axes", exec.gpu()->upload(exec, std::span<const std::uint32_t>(axes).first(2 * extents.size())))
          .writes("y", y)
          .number("start", start)
          .number("elements", elements)
          .fixed("rank", extents.size()),
      ceil_div(elements, Kernel::kThreads));
}

}  // namespace loom::gpu
