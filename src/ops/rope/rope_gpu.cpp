#include "backend/webgpu/gpu_device.h"
#include "core/checked.h"
#include "ops/rope/rope_gpu.h"
#include "ops/rope/rope.wgsl.h"

namespace loom::gpu {
namespace {

// Positions are those of a list, or start at 0 every `steps` rows.
void turn(const Exec& exec, const RopeTable& table, const void* positions, std::size_t steps, std::size_t head_dim,
          ConstTensor x, Tensor y, bool back) {
  const std::size_t heads = x.cols / head_dim;
  const void* const rows = table.rows_on(exec);
  if (exec.status) return;
  exec.gpu()->record_row(exec,
                         Kernel("rope", wgsl::rope, GpuDevice::kRowThreads)
                             .reads("x", x.data, x.cols)
                             .writes("y", y.data, y.cols)
                             .reads("table", rows)
                             .reads("positions", positions == nullptr ? rows : positions)
                             .number("steps", steps)
                             .fixed("cols", x.cols)
                             .fixed("heads", heads)
                             .fixed("head_dim", head_dim)
                             .fixed("dim", table.dim())
                             .fixed("interleaved", table.interleaved())
                             .fixed("back", back),
                         x.rows);
}

}  // namespace

void rope(const Exec& exec, const RopeTable& table, std::span<const std::uint32_t> positions, std::size_t head_dim,
          ConstTensor x, Tensor y) {
  turn(exec, table, exec.gpu()->upload(exec, positions), 0, head_dim, x, y, false);
}

void rope_sequences(const Exec& exec, const RopeTable& table, std::size_t steps, std::size_t head_dim, Tensor x,
                    bool back) {
  turn(exec, table, nullptr, steps, head_dim, x, x, back);
}

}  // namespace loom::gpu
