#include <algorithm>

#include "backend/webgpu/gpu_device.h"
#include "core/checked.h"
#include "ops/magnitude/bound.wgsl.h"
#include "ops/magnitude/bounds.wgsl.h"
#include "ops/magnitude/check_finite.wgsl.h"
#include "ops/magnitude/magnitude.h"

namespace loom::gpu {

void magnitude_bound(const Exec& exec, ConstTensor x, Tensor bound) {
  const ArenaScope scope(exec.arena);
  const std::size_t n = x.rows * x.cols, groups = std::clamp<std::size_t>(n / 4096, 1, 1024);
  auto* const bounds = exec.arena.take<std::uint32_t>(groups);
  exec.gpu()->record(exec,
                     Kernel("bounds", wgsl::bounds, 256)
                         .reads("x", x.data)
                         .writes("bounds", bounds)
                         .number("elements", n)
                         .number("groups", groups),
                     groups);
  exec.gpu()->record(
      exec,
      Kernel("bound", wgsl::bound, 256).reads("bounds", bounds).writes("bound", bound.data).number("groups", groups), 1);
}

void check_finite(const Exec& exec, ConstTensor x, Tensor failed) {
  exec.gpu()->record(exec,
                     Kernel("check_finite", wgsl::check_finite, 256)
                         .reads("x", x.data)
                         .updates("failed", failed.data)
                         .number("elements", x.rows * x.cols),
                     1);
}

}  // namespace loom::gpu
