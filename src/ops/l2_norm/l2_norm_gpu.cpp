#include "backend/webgpu/gpu_device.h"
#include "core/checked.h"
#include "ops/l2_norm/clip_factors.wgsl.h"
#include "ops/l2_norm/l2_norm_gpu.h"
#include "ops/l2_norm/norm_of_lanes.wgsl.h"
#include "ops/l2_norm/scale_by.wgsl.h"
#include "ops/l2_norm/square_lanes.wgsl.h"
#include "simd/orders.h"

namespace loom::gpu {

void l2_norm(const Exec& exec, ConstTensor x, Tensor norm) {
  const ArenaScope scope(exec.arena);
  const std::size_t n = x.rows * x.cols, blocks = ceil_div(n, kLaneBlock);
  float* const lanes = exec.arena.take<float>(blocks * kLanes);
  for (const bool second : {false, true}) {
    exec.gpu()->record(exec,
                       Kernel("square_lanes", wgsl::square_lanes)
                           .reads("x", x.data)
                           .reads("known", norm.data)
                           .writes("lanes", lanes)
                           .number("elements", n)
                           .number("blocks", blocks)
                           .number("factor", static_cast<float>(kNormShrink))
                           .fixed("second", second),
                       ceil_div(blocks * kLanes, Kernel::kThreads));
    exec.gpu()->record(exec,
                       Kernel("norm_of_lanes", wgsl::norm_of_lanes)
                           .reads("lanes", lanes)
                           .updates("norm", norm.data)
                           .number("blocks", blocks)
                           .number("scale", second ? static_cast<float>(kNormShrink) : 1.0f)
                           .fixed("second", second),
                       1);
  }
}

void clip_factors(const Exec& exec, ConstTensor norms, float limit, Tensor clip) {
  exec.gpu()->record(exec,
                     Kernel("clip_factors", wgsl::clip_factors)
                         .reads("norms", norms.data)
                         .writes("clip", clip.data)
                         .number("count", norms.rows)
                         .number("limit", limit)
                         .number("shrink", static_cast<float>(kNormShrink))
                         .number("off_zero", static_cast<float>(kClipOffZero))
                         .number("tiny", static_cast<float>(kClipTiny))
                         .number("first_factor", static_cast<float>(kClipFirst)),
                     1);
}

void scale_by(const Exec& exec, ConstTensor clip, Tensor x) {
  exec.gpu()->record(exec,
                     Kernel("scale_by", wgsl::scale_by)
                         .reads("clip", clip.data)
                         .updates("x", x.data)
                         .number("elements", x.rows * x.cols),
                     ceil_div(x.rows * x.cols, Kernel::kThreads));
}

}  // namespace loom::gpu
