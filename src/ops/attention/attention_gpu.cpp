#include <algorithm>

#include "backend/webgpu/gpu_device.h"
#include "backend/webgpu/wgsl/lanes.wgsl.h"
#include "backend/webgpu/wgsl/largest.wgsl.h"
#include "core/checked.h"
#include "ops/attention/append.wgsl.h"
#include "ops/attention/attend.wgsl.h"
#include "ops/attention/attention.h"
#include "simd/record/math_functions.h"

namespace loom::gpu {
namespace {

// The first position that the rows of a run see, rounded down to the block of the cache that it lies in.
std::size_t first_position(const AttentionConfig& config, std::size_t position) {
  if (config.window == 0 || position + 1 <= config.window) return 0;
  return (position + 1 - config.window) / kCacheBlock * kCacheBlock;
}

void attend(const Exec& exec, const AttentionConfig& config, ConstTensor q, ConstTensor k, ConstTensor v,
            const SequenceRows& run, KvCache& cache, float* scores, Tensor out) {
  static const std::string text = recorder::math_function("exp_f") + recorder::math_function("tanh_f") +
                                  joined({wgsl::lanes, wgsl::largest, wgsl::attend});
  GpuDevice& gpu = *exec.gpu();
  const std::size_t first = first_position(config, run.position), width = run.position + run.count - first;
  void* const blocks = cache.device_blocks();
  const auto kernel = [&](std::string_view name, std::string_view body) {
    Kernel made(name, body, GpuDevice::kRowThreads);
    made.number("start", run.position).number("slots", cache.slots());
    made.fixed("kv_heads", config.kv_heads).fixed("dim", config.head_dim);
    made.fixed("block_words", cache.position_bytes() * kCacheBlock / config.kv_heads / 4);
    return made;
  };
  const Kernel append = kernel("append", wgsl::append)
                            .number("first_row", run.first)
                            .reads("k", k.data, k.cols)
                            .reads("v", v.data, v.cols)
                            .updates("cache", blocks);
  // Rows of a run that begins further behind are others than those of the kernels before.
  run.first == 0 ? gpu.record_row(exec, append, run.count) : gpu.record(exec, append, run.count);
  // A head is a row here, and of the kernels that round it for the product behind.
  gpu.record_row(exec,
                 kernel("attend", text)
                     .reads("cache", blocks)
                     .reads("q", q.row(run.first), config.head_dim)
                     .updates("scores", scores, width)
                     .writes("out", out.row(run.first), config.head_dim)
                     .number("first_position", first)
                     .number("width", width)
                     .number("window", config.window)
                     .number("scale", attention_scale<float>(config))
                     .number("softcap", std::bit_cast<std::uint32_t>(static_cast<float>(config.softcap)))
                     .fixed("heads", config.heads),
                 run.count * config.heads);
}

}  // namespace

void attention(const Exec& exec, const AttentionConfig& config, ConstTensor q, ConstTensor k, ConstTensor v,
               std::span<const SequenceRows> runs, std::span<KvCache> caches, Tensor out) {
  const ArenaScope scope(exec.arena);
  std::size_t most = 0;
  for (const SequenceRows& run : runs) {
    std::size_t width = run.position + run.count - first_position(config, run.position);
    // A window that begins at the end of a block sees most of it: a rehearsal stands for every position before its own.
    if (exec.rehearsal() && config.window != 0)
      width = std::min(run.position, config.window + kCacheBlock - 2) + run.count;
    most = std::max(most, width * run.count * config.heads);
  }
  float* const scores = exec.arena.take<float>(most);
  if (exec.rehearsal()) return;
  for (const SequenceRows& run : runs) attend(exec, config, q, k, v, run, caches[run.sequence], scores, out);
}

}  // namespace loom::gpu
