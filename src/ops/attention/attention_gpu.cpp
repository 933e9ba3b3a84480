#include <algorithm>
#include <vector>

#include "backend/webgpu/gpu_device.h"
#include "backend/webgpu/wgsl/lanes.wgsl.h"
#include "backend/webgpu/wgsl/largest.wgsl.h"
#include "core/checked.h"
#include "ops/attention/append.wgsl.h"
#include "ops/attention/append_codes.wgsl.h"
#include "ops/attention/attend.wgsl.h"
#include "ops/attention/attend_cached.wgsl.h"
#include "ops/attention/attend_near.wgsl.h"
#include "ops/attention/attend_near_codes.wgsl.h"
#include "ops/attention/attend_near_floats.wgsl.h"
#include "ops/attention/attend_once.wgsl.h"
#include "ops/attention/attend_own.wgsl.h"
#include "ops/attention/attend_own_codes.wgsl.h"
#include "ops/attention/attend_scores.wgsl.h"
#include "ops/attention/attend_shared.wgsl.h"
#include "ops/attention/attend_softmax.wgsl.h"
#include "ops/attention/attend_tile.wgsl.h"
#include "ops/attention/attend_tile_scores.wgsl.h"
#include "ops/attention/attend_tile_values.wgsl.h"
#include "ops/attention/attend_values.wgsl.h"
#include "ops/attention/attention_gpu.h"
#include "ops/attention/cache.wgsl.h"
#include "ops/attention/cache_codes.wgsl.h"
#include "ops/sums/chains_gpu.h"
#include "simd/record/math_functions.h"

namespace loom::gpu {
namespace {

// The first position that the rows of a run see, rounded down to the start of its block in the cache.
std::size_t first_position(const AttentionConfig& config, std::size_t position) {
  if (config.window == 0 || position + 1 <= config.window) return 0;
  return (position + 1 - config.window) / kCacheBlock * kCacheBlock;
}

// Many rows are attended by tiles of so many, of one head.
constexpr std::size_t kTile = 64, kManyRows = 32;
// Rows of a run are attended in pieces, since scores take memory: so many of them, or those of one tile.
constexpr std::size_t kScoresOfPiece = std::size_t{1} << 25;

// The positions that rows of a run see, counted from the first one that any of them sees.
std::size_t width_of(const AttentionConfig& config, const SequenceRows& run) {
  return run.position + run.count - first_position(config, run.position);
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
        width_(width_of(config, run)) {}

  void run(ConstTensor q, ConstTensor k, ConstTensor v, Tensor out) const {
    if (takes_own())
      return exec_.gpu()->record(exec_, own(q, k, v, out, config_.heads).groups_of_row(config_.heads), config_.heads);
    const Append append = appending(k, v);
    append.by_rows ? exec_.gpu()->record_row(exec_, append.kernel, append.groups)
                   : exec_.gpu()->record(exec_, append.kernel, append.groups);
    if (run_.count >= kManyRows) return attend_tiles(q, out);
    if (!is_near() && queries() <= kFewQueries) return attend_shared(q, out);
    // A head is a row of these kernels, and of those that round it for the product that follows.
    exec_.gpu()->record_row(exec_, is_near() ? near(q, out) : once(q, out), queries());
  }

  // ---- runs of one row each, whose kernels run beside each other ----

  bool is_near() const { return width_ <= kManyPositions; }
  // Whether the new key and value are put into the cache by the kernel that attends.
  bool takes_own() const { return is_near() && run_.count == 1; }
  Kernel append(ConstTensor k, ConstTensor v) const { return appending(k, v).kernel; }
  Kernel near(ConstTensor q, Tensor out) const {
    static const Texts texts = {
        body({wgsl::attend_cached, wgsl::attend_near_floats, wgsl::attend_near}),
        body({wgsl::attend_cached, wgsl::cache_codes, wgsl::attend_near_codes, wgsl::attend_near})};
    return attending("attend_near", texts[holds_codes()], q).writes("out", out.row(run_.first), config_.head_dim);
  }
  Kernel once(ConstTensor q, Tensor out) const {
    static const std::string text = body({wgsl::attend_shared, wgsl::attend_once});
    return scoring("attend", text, q).writes("out", out.row(run_.first), config_.head_dim);
  }
  // One row that sees few positions: each of its heads takes the new key and value from k and v, and may begin with
  // what makes them. A workgroup has a part of `heads_of_row` in the rows of q and out.
  Kernel own(ConstTensor q, ConstTensor k, ConstTensor v, Tensor out, std::size_t heads_of_row) const {
    static const Texts texts = {
        body({wgsl::attend_own, wgsl::attend_near_floats, wgsl::attend_near}),
        body({wgsl::attend_own_codes, wgsl::cache_codes, wgsl::attend_near_codes, wgsl::attend_near})};
    Kernel own = kernel("attend_own", texts[holds_codes()]);
    with_query(own, q, heads_of_row)
        .updates("cache", cache_.device_blocks())
        .reads("k", k.row(run_.first), k.cols)
        .reads("v", v.row(run_.first), v.cols)
        .writes("out", out.row(run_.first), heads_of_row * config_.head_dim);
    return own;
  }

 private:
  // The text for float32, and that for codes.
  using Texts = std::array<std::string, 2>;
  static std::string body(std::initializer_list<std::string_view> own) {
    return recorder::math_function("exp_f") + recorder::math_function("tanh_f") +
           joined({wgsl::lanes, wgsl::largest, wgsl::cache, wgsl::attend}) + joined(own);
  }
  std::size_t queries() const { return run_.count * config_.heads; }
  bool holds_codes() const { return cache_.config().dtype != DType::float32; }
  std::size_t block_bytes() const { return cache_.position_bytes() * kCacheBlock / config_.kv_heads; }

  Kernel kernel(std::string_view name, std::string_view body) const {
    Kernel made(name, body, GpuDevice::kRowThreads);
    made.number("start", run_.position).number("slots", cache_.slots());
    made.fixed("kv_heads", config_.kv_heads).fixed("dim", config_.head_dim);
    made.fixed("block_words", block_bytes() / 4).fixed("item_bytes", cache_.item_bytes());
    return made;
  }
  Kernel& with_query(Kernel& kernel, ConstTensor q, std::size_t heads_of_row) const {
    return kernel.reads("q", q.row(run_.first), heads_of_row * config_.head_dim)
        .number("first_position", first_)
        .number("window", config_.window)
        .number("scale", attention_scale<float>(config_))
        .number("softcap", std::bit_cast<std::uint32_t>(static_cast<float>(config_.softcap)))
        .fixed("heads", config_.heads);
  }
  Kernel attending(std::string_view name, std::string_view text, ConstTensor q) const {
    Kernel made = kernel(name, text);
    return with_query(made, q, 1).reads("cache", cache_.device_blocks());
  }
  Kernel scoring(std::string_view name, std::string_view text, ConstTensor q) const {
    return attending(name, text, q).updates("scores", scratch_.scores, width_).number("width", width_);
  }

  struct Append {
    Kernel kernel;
    std::size_t groups;
    bool by_rows;
  };
  Append appending(ConstTensor k, ConstTensor v) const {
    const bool are_codes = holds_codes();
    static const std::string codes = joined({wgsl::cache, wgsl::cache_codes, wgsl::append_codes});
    Kernel append = kernel(are_codes ? "append_codes" : "append", are_codes ? std::string_view(codes) : wgsl::append);
    append.number("first_row", run_.first)
        .reads("k", k.data, k.cols)
        .reads("v", v.data, v.cols)
        .updates("cache", cache_.device_blocks());
    // A workgroup for each row, or for the rows whose codes share a word.
    std::size_t groups = run_.count;
    if (are_codes) {
      const std::size_t in_word = 4 / cache_.item_bytes();
      append.number("rows", run_.count);
      groups = ceil_div(run_.position % in_word + run_.count, in_word);
    }
    // Rows of a run that begins at a later position are others than those of the kernels before.
    return {append, groups, run_.first == 0 && (run_.count == 1 || !are_codes)};
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
    exec_.gpu()->record(exec_,
                        scoring("attend_values", values, q).writes("sums", scratch_.sums).number("queries", queries()),
                        queries() * ceil_div(chains.count(), kChainsOfGroup));
    add_chunks(exec_, chains, scratch_.sums, false, nullptr,
               {out.row(run_.first), run_.count, config_.heads * config_.head_dim, Element::f32});
  }

  void attend_tiles(ConstTensor q, Tensor out) const {
    static const std::string scores = body({wgsl::attend_tile, wgsl::attend_tile_scores}),
                             softmax = body({wgsl::attend_shared, wgsl::attend_softmax}),
                             values = body({wgsl::attend_tile, wgsl::attend_tile_values});
    const auto tiled = [&](std::string_view name, std::string_view text) {
      return scoring(name, text, q).number("rows", run_.count);
    };
    const std::size_t tiles = ceil_div(run_.count, kTile) * config_.heads;
    exec_.gpu()->record(exec_, tiled("attend_tile_scores", scores), tiles * ceil_div(width_, kCacheBlock));
    exec_.gpu()->record(exec_, scoring("attend_softmax", softmax, q), queries());
    exec_.gpu()->record(exec_, tiled("attend_tile_values", values).writes("out", out.row(run_.first)),
                        tiles * ceil_div(config_.head_dim, kTile));
  }

  const Exec& exec_;
  const AttentionConfig& config_;
  const SequenceRows& run_;
  KvCache& cache_;
  const Scratch& scratch_;
  std::size_t first_, width_;
};

// Runs of one row each, as many at a time as may run beside each other. Their scores have memory of their own.
class Together {
 public:
  Together(const Exec& exec, const AttentionConfig& config, std::span<KvCache> caches, const Scratch& scratch,
           std::size_t scores_of_one)
      : exec_(exec), config_(config), caches_(caches), scratch_(scratch), scores_of_one_(scores_of_one) {}

  void run(std::span<const SequenceRows> runs, ConstTensor q, ConstTensor k, ConstTensor v, Tensor out) const {
    std::vector<Kernel> append, own, near, once;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const Scratch scratch{scratch_.scores + once.size() * scores_of_one_, scratch_.sums};
      const Attention one(exec_, config_, runs[i], caches_[runs[i].sequence], scratch);
      if (one.takes_own()) {
        own.push_back(one.own(q, k, v, out, 1));
        continue;
      }
      append.push_back(one.append(k, v));
      one.is_near() ? near.push_back(one.near(q, out)) : once.push_back(one.once(q, out));
    }
    exec_.gpu()->record_beside(exec_, append, 1);
    for (const std::vector<Kernel>* const kernels : {&own, &near, &once})
      exec_.gpu()->record_beside(exec_, *kernels, config_.heads);
  }

 private:
  const Exec& exec_;
  const AttentionConfig& config_;
  std::span<KvCache> caches_;
  const Scratch& scratch_;
  std::size_t scores_of_one_;
};

}  // namespace

void attention(const Exec& exec, const AttentionConfig& config, ConstTensor q, ConstTensor k, ConstTensor v,
               std::span<const SequenceRows> runs, std::span<KvCache> caches, Tensor out) {
  const ArenaScope scope(exec.arena);
  // A window that begins at the end of a block sees most of it: a rehearsal stands for every position before its own.
  const auto most_seen = [&](const SequenceRows& run) {
    if (!exec.rehearsal() || config.window == 0) return width_of(config, run);
    return std::min(run.position, config.window + kCacheBlock - 2) + run.count;
  };
  std::size_t most = 0, most_sums = 0, scores_of_one = 0;
  for (const SequenceRows& run : runs) {
    const std::size_t width = most_seen(run), scores = width * config.heads;
    if (width > kManyPositions) scores_of_one = std::max(scores_of_one, scores);
    if (run.count >= kManyRows || width > kManyPositions)
      most = std::max({most, std::min(kScoresOfPiece, run.count * scores), std::min(run.count, kTile) * scores});
    const std::size_t queries = run.count * config.heads;
    // Many rows stand for few too: those of the last piece, or of a call that a rehearsal stands for.
    if (width > kManyPositions)
      most_sums = std::max(most_sums, ceil_div(width, kChain) * std::min(queries, kFewQueries) * config.head_dim);
  }
  // A rehearsal stands for passes with a row of each sequence.
  if (runs.size() > 1) most = std::max(most, std::min(runs.size(), kMostBeside) * scores_of_one);
  const Scratch scratch{exec.arena.take<float>(most), exec.arena.take<float>(most_sums)};
  if (exec.rehearsal()) return;
  std::vector<SequenceRows> single;
  std::size_t queries_of_many = 0;
  for (const SequenceRows& run : runs)
    if (run.count == 1) single.push_back(run);
  const auto sees_many = [&](const SequenceRows& run) { return width_of(config, run) > kManyPositions; };
  // Few queries that see many positions are shared by workgroups, each alone.
  for (const SequenceRows& run : single) queries_of_many += sees_many(run) ? config.heads : 0;
  if (queries_of_many <= kFewQueries) std::erase_if(single, sees_many);
  if (single.size() == 1) single.clear();
  std::ranges::stable_partition(single, sees_many);  // kernels of one kind go together
  const Together together(exec, config, caches, scratch, scores_of_one);
  for (std::span<const SequenceRows> rest = single; !rest.empty();) {
    const auto now = rest.first(std::min(rest.size(), kMostBeside));
    together.run(now, q, k, v, out);
    rest = rest.subspan(now.size());
  }
  for (const SequenceRows& run : runs) {
    if (!single.empty() && run.count == 1 && (queries_of_many > kFewQueries || !sees_many(run))) continue;
    const std::size_t rows = std::max(kTile, kScoresOfPiece / (width_of(config, run) * config.heads) / kTile * kTile);
    for (std::size_t at = 0; at < run.count; at += rows) {
      const SequenceRows piece{run.first + at, std::min(rows, run.count - at), run.position + at, run.sequence};
      Attention(exec, config, piece, caches[run.sequence], scratch).run(q, k, v, out);
    }
  }
}

}  // namespace loom::gpu
