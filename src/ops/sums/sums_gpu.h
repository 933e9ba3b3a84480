#pragma once
// Sums over all elements of a tensor (sums.h) on a graphics card, in two kernels: what elements add up to in each
// block, and what is made of the totals.

#include "backend/webgpu/gpu_device.h"
#include "core/checked.h"
#include "ops/sums/block_lanes.wgsl.h"
#include "ops/sums/fold_lanes.wgsl.h"
#include "simd/orders.h"

namespace loom::gpu {

// Texts of the two, kept by the op: block_text({functions, fn term(s, i)}), fold_text({fn finish()}).
inline std::string block_text(std::initializer_list<std::string_view> texts) {
  return joined(texts) + std::string(wgsl::block_lanes);
}
inline std::string fold_text(std::initializer_list<std::string_view> texts) {
  return joined(texts) + std::string(wgsl::fold_lanes);
}

// Records both; either has its own operands and numbers already.
inline void record_sums(const Exec& exec, std::size_t n, std::size_t sums, Kernel block, Kernel fold) {
  const ArenaScope scope(exec.arena);
  const std::size_t blocks = ceil_div(n, kLaneBlock);
  float* const lanes = exec.arena.take<float>(blocks * sums * kLanes);
  block.writes("lanes", lanes).number("elements", n).number("blocks", blocks).fixed("sums", sums);
  exec.gpu()->record(exec, block, ceil_div(blocks * kLanes, Kernel::kThreads));
  fold.reads("lanes", lanes).number("blocks", blocks).fixed("sums", sums);
  exec.gpu()->record(exec, fold, 1);
}

}  // namespace loom::gpu
