#include "backend/webgpu/prelude.h"

#include "backend/webgpu/wgsl/prelude.wgsl.h"
#include "backend/webgpu/wgsl/sums_kept.wgsl.h"
#include "backend/webgpu/wgsl/sums_left.wgsl.h"

namespace loom::gpu {

std::string prelude(Sums sums) {
  return std::string(wgsl::prelude) + std::string(sums == Sums::Left ? wgsl::sums_left : wgsl::sums_kept);
}

}  // namespace loom::gpu
