#include <array>

#include "backend/webgpu/gpu_device.h"
#include "core/checked.h"
#include "ops/fold/fold_gpu.h"
#include "ops/fold/fold.wgsl.h"
#include "ops/fold/wide.wgsl.h"

namespace loom::gpu {

void fold(const Exec& exec, Fold how, const float* x, const FoldAxes& kept, const FoldAxes& reduced, float* y) {
  std::array<std::uint32_t, 2 * kFoldAxes> axes{};
  std::size_t n = 0;
  for (const FoldAxes* const of : {&kept, &reduced})
    for (const auto list : {of->extents, of->steps})
      for (const std::size_t number : list) axes[n++] = static_cast<std::uint32_t>(number);
  static const std::string body = joined({wgsl::wide, wgsl::fold});
  const std::size_t outputs = kept.count();
  exec.gpu()->record(
      exec,
      Kernel("fold", body)
          .reads("x", x)
          .reads("axes",
                 exec.gpu()->upload(exec, std::span<const std::uint32_t>(axes).first(std::max<std::size_t>(n, 1))))
          .writes("y", y)
          .number("outputs", outputs)
          .number("terms", reduced.count())
          .fixed("how", static_cast<std::size_t>(how))
          .fixed("kept_rank", kept.extents.size())
          .fixed("reduced_rank", reduced.extents.size()),
      ceil_div(outputs, Kernel::kThreads));
}

}  // namespace loom::gpu
