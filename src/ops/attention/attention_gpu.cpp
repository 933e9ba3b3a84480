#include <algorithm>

#include "backend/webgpu/gpu_device.h"
#include "backend/webgpu/wgsl/lanes.wgsl.h"
#include "backend/webgpu/wgsl/largest.wgsl.h"
#include "core/checked.h"
#include "ops/attention/append.wgsl.h"
#include "ops/attention/attend.wgsl.h"
#include "ops/attention/attend_near.wgsl.h"
#include "ops/attention/attend_once.wgsl.h"
#include "ops/attention/attend_scores.wgsl.h"
#include "ops/attention/attend_shared.wgsl.h"
#include "ops/attention/attend_softmax.wgsl.h"
#include "ops/attention/attend_values.wgsl.h"
#include "ops/attention/attention.h"
#include "ops/sums/chains_gpu.h"
#include "simd/record/math_functions.h"

namespace loom::gpu {
namespace {

// The first position that the rows of a run see, rounded down to the block of the cache that it lies in.
std::size_t first_position(const AttentionConfig& config, std::size_t position) {
  if (config.window == 0 || position + 1 <= config.window) return 0;
  return (position + 1 - config.window) / kCacheBlock * kCacheBlock;
}

// Few queries that see many positions: each is shared by workgroups, in four kernels.
constexpr std::size_t kFewQueries = 64, kManyPositions = 512;  // most_near of attend_near.wgsl

struct Scratch {
  float *scores, *sums;
};

class Attention {
 public:
  Attention(const Exec& exec, const AttentionConfig& config, const SequenceRows& run, KvCache& cache,
            const Scratch& scratch)
      : exec_(exec),
        config_(config),
        run_(run),
        cache_(cache),
        scratch_(scratch),
        first_(first_position(config, run.position)),
        width_(run.position + run.count - first_) {}

  void run(ConstTensor q, ConstTensor k, ConstTensor v, Tensor out) const {
    const bool is_near = width_ <= kManyPositions;
    if (is_near && run_.count == 1) {
      exec_.gpu()->record(exec_, near(q, k, v, out, true, config_.heads).groups_of_row(config_.heads), config_.heads);
      return;
    }
    append(k, v);
    if (!is_near && queries() <= kFewQueries) return attend_shared(q, out);
    static const std::string once = body({wgsl::attend_once});
    // A head is a row here, and of the kernels that round it for the product behind.
    exec_.gpu()->record_row(exec_,
                            is_near ? near(q, k, v, out, false, 1)
                                    : scoring("attend", once, q).writes("out", out.row(run_.first), config_.head_dim),
                            queries());
  }

 private:
  static std::string body(std::initializer_list<std::string_view> own) {
    return recorder::math_function("exp_f") + recorder::math_function("tanh_f") +
           joined({wgsl::lanes, wgsl::largest, wgsl::attend}) + joined(own);
  }
  std::size_t queries() const { return run_.count * config_.heads; }

  void append(ConstTensor k, ConstTensor v) const {
    const Kernel append = kernel("append", wgsl::append)
                              .number("first_row", run_.first)
                              .reads("k", k.data, k.cols)
                              .reads("v", v.data, v.cols)
                              .updates("cache", cache_.device_blocks());
    // Rows of a run that begins further behind are others than those of the kernels before.
    run_.first == 0 ? exec_.gpu()->record_row(exec_, append, run_.count)
                    : exec_.gpu()->record(exec_, append, run_.count);
  }

  Kernel kernel(std::string_view name, std::string_view body) const {
    Kernel made(name, body, GpuDevice::kRowThreads);
    made.number("start", run_.position).number("slots", cache_.slots());
    made.fixed("kv_heads", config_.kv_heads).fixed("dim", config_.head_dim);
    made.fixed("block_words", cache_.position_bytes() * kCacheBlock / config_.kv_heads / 4);
    return made;
  }
  Kernel attending(std::string_view name, std::string_view body, ConstTensor q, std::size_t heads_of_row = 1) const {
    return kernel(name, body)
        .reads("q", q.row(run_.first), heads_of_row * config_.head_dim)
        .number("first_position", first_)
        .number("window", config_.window)
        .number("scale", attention_scale<float>(config_))
        .number("softcap", std::bit_cast<std::uint32_t>(static_cast<float>(config_.softcap)))
        .fixed("heads", config_.heads);
  }

  Kernel scoring(std::string_view name, std::string_view body, ConstTensor q) const {
    return attending(name, body, q)
        .reads("cache", cache_.device_blocks())
        .updates("scores", scratch_.scores, width_)
        .number("width", width_);
  }
  Kernel near(ConstTensor q, ConstTensor k, ConstTensor v, Tensor out, bool is_own, std::size_t heads_of_row) const {
    static const std::string text = body({wgsl::attend_near});
    return attending(is_own ? "attend_own" : "attend_near", text, q, heads_of_row)
        .updates("cache", cache_.device_blocks())
        .reads("k", k.row(run_.first), is_own ? k.cols : 0)
        .reads("v", v.row(run_.first), is_own ? v.cols : 0)
        .writes("out", out.row(run_.first), heads_of_row * config_.head_dim)
        .fixed("is_own", is_own ? 1 : 0);
  }

  void attend_shared(ConstTensor q, Tensor out) const {
    static const std::string scores = body({wgsl::attend_shared, wgsl::attend_scores}),
                             softmax = body({wgsl::attend_shared, wgsl::attend_softmax}),
                             values = body({wgsl::attend_shared, wgsl::attend_values});
    const Chunks chains(width_, 0);
    constexpr std::size_t kChainsOfGroup = GpuDevice::kRowThreads / 64;
    exec_.gpu()->record(exec_, scoring("attend_scores", scores, q),
                        queries() * ceil_div(width_, std::size_t{GpuDevice::kRowThreads}));
    exec_.gpu()->record(exec_, scoring("attend_softmax", softmax, q), queries());
    exec_.gpu()->record(
        exec_, scoring("attend_values", values, q).writes("sums", scratch_.sums).number("queries", queries()),
        queries() * ceil_div(chains.count(), kChainsOfGroup));
    add_chunks(exec_, chains, scratch_.sums, false, nullptr,
               {out.row(run_.first), run_.count, config_.heads * config_.head_dim, Element::f32});
  }

  const Exec& exec_;
  const AttentionConfig& config_;
  const SequenceRows& run_;
  KvCache& cache_;
  const Scratch& scratch_;
  std::size_t first_, width_;
};

}  // namespace

void attention(const Exec& exec, const AttentionConfig& config, ConstTensor q, ConstTensor k, ConstTensor v,
               std::span<const SequenceRows> runs, std::span<KvCache> caches, Tensor out) {
  const ArenaScope scope(exec.arena);
  std::size_t most = 0, most_sums = 0;
  for (const SequenceRows& run : runs) {
    std::size_t width = run.position + run.count - first_position(config, run.position);
    // A window that begins at the end of a block sees most of it: a rehearsal stands for every position before its own.
    if (exec.rehearsal() && config.window != 0)
      width = std::min(run.position, config.window + kCacheBlock - 2) + run.count;
    if (width <= kManyPositions) continue;
    const std::size_t queries = run.count * config.heads;
    most = std::max(most, width * queries);
    // A rehearsal of many rows stands for few too.
    if (exec.rehearsal() || queries <= kFewQueries)
      most_sums = std::max(most_sums, ceil_div(width, kChain) * std::min(queries, kFewQueries) * config.head_dim);
  }
  const Scratch scratch{exec.arena.take<float>(most), exec.arena.take<float>(most_sums)};
  if (exec.rehearsal()) return;
  for (const SequenceRows& run : runs) {
    const Attention of_run(exec, config, run, caches[run.sequence], scratch);
    of_run.run(q, k, v, out);
  }
}

}  // namespace loom::gpu
