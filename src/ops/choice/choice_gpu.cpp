#include "backend/webgpu/gpu_device.h"
#include "core/checked.h"
#include "ops/choice/better.wgsl.h"
#include "ops/choice/candidates.wgsl.h"
#include "ops/choice/choice_gpu.h"
#include "ops/choice/choice.wgsl.h"

namespace loom::gpu {

void choose(const Exec& exec, ConstTensor x, std::span<const std::int32_t> banned, std::span<std::int32_t> ids) {
  static const std::string candidates = joined({wgsl::better, wgsl::candidates}),
                           choice = joined({wgsl::better, wgsl::choice});
  constexpr std::size_t kColumnsOfPart = 2048;
  const ArenaScope scope(exec.arena);
  const std::size_t parts = ceil_div(x.cols, kColumnsOfPart);
  void* const found = exec.arena.take<std::uint32_t>(x.rows * parts * 2);
  exec.gpu()->record(exec,
                     Kernel("candidates", candidates, GpuDevice::kRowThreads)
                         .reads("x", x.data)
                         .reads("banned", banned.empty() ? x.data : exec.gpu()->upload(exec, banned))
                         .writes("candidates", found)
                         .number("bans", banned.size())
                         .fixed("cols", x.cols)
                         .fixed("parts", parts),
                     x.rows * parts);
  exec.gpu()->record(exec,
                     Kernel("choice", choice, GpuDevice::kRowThreads)
                         .reads("candidates", found)
                         .writes("ids", ids.data())
                         .fixed("parts", parts),
                     x.rows);
}

}  // namespace loom::gpu
