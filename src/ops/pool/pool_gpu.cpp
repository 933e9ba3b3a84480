#include <array>

#include "backend/webgpu/gpu_device.h"
#include "backend/webgpu/wgsl/lanes.wgsl.h"
#include "backend/webgpu/wgsl/largest.wgsl.h"
#include "core/checked.h"
#include "ops/pool/planes.wgsl.h"
#include "ops/pool/pool_gpu.h"
#include "ops/pool/pool.wgsl.h"
#include "ops/pool/pool_backward.wgsl.h"
#include "ops/pool/windows.wgsl.h"

namespace loom::gpu {
namespace {

using Axes = PoolGeometry::Axes;

std::size_t volume(const Axes& a) { return a[0] * a[1] * a[2]; }

// Records a kernel over windows, a thread per element.
void record_windows(const Exec& exec, const PoolGeometry& g, const Axes& out, bool averages, std::size_t elements,
                    Kernel& kernel) {
  std::array<std::uint32_t, 18> words;
  std::uint32_t* to = words.data();
  for (std::size_t a = 0; a < 3; ++a)
    for (const std::size_t field : {g.in[a], out[a], g.kernel[a], g.stride[a], g.padding[a], g.dilation[a]})
      *to++ = static_cast<std::uint32_t>(field);
  kernel.reads("axes", exec.gpu()->upload(exec, std::span<const std::uint32_t>(words)))
      .number("elements", elements)
      .fixed("averages", averages)
      .fixed("count_include_pad", g.count_include_pad);
  exec.gpu()->record(exec, kernel, ceil_div(elements, Kernel::kThreads));
}

void pool(const Exec& exec, const PoolGeometry& g, const Axes& out, bool averages, bool seeks, const void* x,
          std::size_t planes, void* y) {
  static const std::string body = joined({wgsl::windows, wgsl::pool});
  Kernel kernel("pool", body);
  kernel.reads("x", x).writes("y", y).fixed("seeks", seeks);
  record_windows(exec, g, out, averages, planes * volume(out), kernel);
}

// `winners` is null where there are none.
void pool_backward(const Exec& exec, const PoolGeometry& g, const Axes& out, const void* winners, bool divides,
                   std::size_t planes, const void* dy, void* dx) {
  static const std::string body = joined({wgsl::windows, wgsl::pool_backward});
  Kernel kernel("pool_backward", body);
  kernel.reads("dy", dy).reads("winners", winners == nullptr ? dy : winners).writes("dx", dx).fixed("divides", divides);
  record_windows(exec, g, out, winners == nullptr, planes * volume(g.in), kernel);
}

void record_planes(const Exec& exec, ConstTensor x, bool averages, void* y) {
  static const std::string body = joined({wgsl::lanes, wgsl::largest, wgsl::planes});
  exec.gpu()->record_row(exec,
                         Kernel("planes", body, GpuDevice::kRowThreads)
                             .reads("x", x.data)
                             .writes("y", y)
                             .number("cols", x.cols)
                             .fixed("averages", averages),
                         x.rows);
}

}  // namespace

void max_pool(const Exec& exec, const PoolGeometry& g, const Axes& out, ConstTensor x, std::size_t planes, Tensor y) {
  pool(exec, g, out, false, false, x.data, planes, y.data);
}

void average_pool(const Exec& exec, const PoolGeometry& g, const Axes& out, ConstTensor x, std::size_t planes,
                  Tensor y) {
  pool(exec, g, out, true, false, x.data, planes, y.data);
}

void max_pool_backward(const Exec& exec, const PoolGeometry& g, const Axes& out, ConstTensor x, std::size_t planes,
                       ConstTensor dy, Tensor dx) {
  const ArenaScope scope(exec.arena);
  void* const winners = exec.arena.take<std::uint32_t>(planes * volume(out));
  pool(exec, g, out, false, true, x.data, planes, winners);
  pool_backward(exec, g, out, winners, false, planes, dy.data, dx.data);
}

void average_pool_backward(const Exec& exec, const PoolGeometry& g, const Axes& out, std::size_t planes, ConstTensor dy,
                           Tensor dx, bool divides) {
  pool_backward(exec, g, out, nullptr, divides, planes, dy.data, dx.data);
}

void mean_of_planes(const Exec& exec, ConstTensor x, void* y) { record_planes(exec, x, true, y); }
void largest_of_planes(const Exec& exec, ConstTensor x, void* y) { record_planes(exec, x, false, y); }

}  // namespace loom::gpu
