#include <array>

#include "backend/webgpu/gpu_device.h"
#include "core/checked.h"
#include "ops/unfold/store_planes.wgsl.h"
#include "ops/unfold/unfold_gpu.h"
#include "ops/unfold/unfold.wgsl.h"

namespace loom::gpu {

void store_planes(const Exec& exec, const PatchLayout& layout, const void* x, std::size_t n, void* to) {
  const StoredPlane stored = layout.stored();
  std::array<std::uint32_t, 12> axes;
  for (std::size_t a = 0; a < 3; ++a) {
    const StoredPlane::Axis& axis = stored.axes[a];
    axes[4 * a] = static_cast<std::uint32_t>(axis.shift);
    axes[4 * a + 1] = static_cast<std::uint32_t>(axis.spread);
    axes[4 * a + 2] = static_cast<std::uint32_t>(axis.in);
    axes[4 * a + 3] = static_cast<std::uint32_t>(a == 2 ? stored.row : axis.length);
  }
  const std::size_t elements = n * layout.plane();
  exec.gpu()->record(exec,
                     Kernel("store_planes", wgsl::store_planes)
                         .reads("x", x)
                         .reads("axes", exec.gpu()->upload(exec, std::span<const std::uint32_t>(axes)))
                         .writes("planes", to)
                         .number("elements", elements)
                         .number("phases", stored.phases)
                         .number("phase", stored.phase),
                     ceil_div(elements, Kernel::kThreads));
}

void unfold(const Exec& exec, const PatchLayout& layout, const void* planes, std::size_t first, Tensor patches) {
  const StoredPlane stored = layout.stored();
  const ConvGeometry& g = layout.geometry();
  const std::size_t elements = patches.rows * patches.cols, layer = stored.axes[1].length * stored.row;
  const auto step = [&](std::size_t axis) { return g.transposed ? 1 : g.stride[axis]; };
  exec.gpu()->record(exec,
                     Kernel("unfold", wgsl::unfold)
                         .reads("planes", planes)
                         .writes("patches", patches.data)
                         .number("elements", elements)
                         .number("first", first)
                         .number("cols", patches.cols)
                         .number("plane", layout.plane())
                         .number("phases", stored.phases)
                         .number("phase", stored.phase)
                         .number("kernel_z", g.kernel[0])
                         .number("kernel_y", g.kernel[1])
                         .number("kernel_x", g.kernel[2])
                         .number("out_y", layout.extents()[1])
                         .number("out_x", layout.extents()[2])
                         .number("start_z", step(0) * layer)
                         .number("start_y", step(1) * stored.row)
                         .number("tap_z", g.dilation[0] * layer)
                         .number("tap_y", g.dilation[1] * stored.row)
                         .number("tap_x", g.dilation[2])
                         .fixed("transposed", g.transposed),
                     ceil_div(elements, Kernel::kThreads));
}

}  // namespace loom::gpu
