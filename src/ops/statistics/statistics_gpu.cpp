#include "backend/webgpu/gpu_device.h"
#include "backend/webgpu/wgsl/largest.wgsl.h"
#include "core/checked.h"
#include "ops/statistics/block_figures.wgsl.h"
#include "ops/statistics/figures.wgsl.h"
#include "ops/statistics/statistics_gpu.h"
#include "simd/orders.h"

namespace loom::gpu {

void tensor_statistics(const Exec& exec, ConstTensor x, Tensor figures) {
  static const std::string of_blocks = joined({wgsl::largest, wgsl::block_figures}),
                           of_all = joined({wgsl::largest, wgsl::figures});
  const ArenaScope scope(exec.arena);
  const std::size_t elements = x.rows * x.cols, blocks = ceil_div(elements, kLaneBlock);
  void* const lanes = exec.arena.take<float>(4 * kLanes * blocks);
  for (const bool squares : {false, true}) {
    exec.gpu()->record(exec,
                       Kernel("block_figures", of_blocks, GpuDevice::kRowThreads)
                           .reads("x", x.data)
                           .reads("figures", figures.data)
                           .writes("lanes", lanes)
                           .number("elements", elements)
                           .fixed("squares", squares),
                       ceil_div(blocks, kLanes));
    exec.gpu()->record(exec,
                       Kernel("figures", of_all, kLanes)
                           .reads("lanes", lanes)
                           .writes("figures", figures.data)
                           .number("elements", elements)
                           .number("blocks", blocks)
                           .fixed("squares", squares),
                       1);
  }
}

}  // namespace loom::gpu
