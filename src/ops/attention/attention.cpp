#include "ops/attention/attention.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/checked.h"
#include "ops/all.h"

namespace loom {
namespace {

// The tasks of one op: for every sequence and kv head, its (row, head) queries in tiles, rows ascending.
struct Tiling {
  std::size_t per_head = 1;     // query heads that share a task: the whole group, or one when threads would be idle
  std::size_t tile = 1;
  std::size_t groups = 1;       // kv_heads * (heads per kv head / per_head)

  std::size_t tasks(std::size_t rows) const { return ceil_div(rows * per_head, tile) * groups; }
};

}  // namespace

Result<KvCache> KvCache::create(const Config& config) {
  KvCache c;
  c.config_ = config;
  std::size_t positions = config.max_positions;
  if (config.window != 0 && config.window + config.max_chunk < positions) positions = config.window + config.max_chunk + kCacheBlock;
  c.slots_ = ceil_div(positions, kCacheBlock);
  c.block_floats_ = kCacheBlock * (config.head_dim + c.padded_dim());
  LOOM_TRY(const std::size_t bytes, checked_product({config.kv_heads, c.slots_, c.block_floats_, sizeof(float)}));
  LOOM_TRY(c.memory_, Buffer::create_sparse(bytes));
  return c;
}

std::size_t KvCache::first_held(std::size_t next) const {
  const std::size_t blocks = ceil_div(next, kCacheBlock);
  return blocks <= slots_ ? 0 : (blocks - slots_) * kCacheBlock;
}

void KvCache::read(std::size_t kv_head, std::size_t position, float* key, float* value) const {
  auto& self = const_cast<KvCache&>(*this);
  const std::size_t dim = config_.head_dim, in_block = position % kCacheBlock;
  const float* k = self.keys(kv_head, position / kCacheBlock) + in_block / 16 * dim * 16 + in_block % 16;
  const float* v = self.values(kv_head, position / kCacheBlock) + in_block * 16;
  for (std::size_t d = 0; d < dim; ++d) {
    key[d] = k[d * 16];
    value[d] = v[d / 16 * kCacheBlock * 16 + d % 16];
  }
}

void KvCache::write(std::size_t kv_head, std::size_t position, const float* key, const float* value) {
  const std::size_t dim = config_.head_dim, in_block = position % kCacheBlock;
  float* k = keys(kv_head, position / kCacheBlock) + in_block / 16 * dim * 16 + in_block % 16;
  float* v = values(kv_head, position / kCacheBlock) + in_block * 16;
  for (std::size_t d = 0; d < dim; ++d) {
    k[d * 16] = key[d];
    v[d / 16 * kCacheBlock * 16 + d % 16] = value[d];
  }
}

void KvCache::forget(std::size_t begin, std::size_t end) {
  for (std::size_t head = 0; head < config_.kv_heads; ++head)
    for (std::size_t p = std::max(begin, first_held(end)); p < end;) {
      const std::size_t in_block = p % kCacheBlock, dim = config_.head_dim;
      if (in_block == 0) {
        std::fill_n(at(head, p / kCacheBlock), block_floats_, 0.0f);
        p += kCacheBlock;
        continue;
      }
      float* k = keys(head, p / kCacheBlock) + in_block / 16 * dim * 16 + in_block % 16;
      float* v = values(head, p / kCacheBlock) + in_block * 16;
      for (std::size_t d = 0; d < dim; ++d) k[d * 16] = v[d / 16 * kCacheBlock * 16 + d % 16] = 0.0f;
      ++p;
    }
}

template <class T>
T attention_scale(const AttentionConfig& config) {
  return config.scale != 0 ? static_cast<T>(config.scale) : T{1} / std::sqrt(static_cast<T>(config.head_dim));
}
template float attention_scale<float>(const AttentionConfig&);
template double attention_scale<double>(const AttentionConfig&);

void attention(const Exec& exec, const AttentionConfig& config, ConstTensor q, ConstTensor k, ConstTensor v, std::span<const SequenceRows> runs,
               std::span<KvCache* const> caches, Tensor out) {
  const AttentionKernels& kernels = exec.kernels.attention;
  const std::size_t dim = config.head_dim, group = config.heads / config.kv_heads;
  const auto scale = attention_scale<float>(config), softcap = static_cast<float>(config.softcap);
  std::size_t last = 0;
  for (const SequenceRows& run : runs) last = run.position + run.count > last ? run.position + run.count : last;
  const ArenaScope scope(exec.arena);
  const std::size_t scratch = attention_scratch_floats(dim, last);
  float* const memory = exec.arena.take<float>(scratch * static_cast<std::size_t>(exec.pool.threads()));
  if (!exec.computes()) return;
  const auto append_head = [&](std::size_t h) {
    for (std::size_t s = 0; s < runs.size(); ++s)
      for (std::size_t i = 0; i < runs[s].count; ++i)
        kernels.append(*caches[s], h, runs[s].position + i, k.row(runs[s].first + i) + h * dim, v.row(runs[s].first + i) + h * dim);
  };
  if (q.rows < 16) {
    for (std::size_t h = 0; h < config.kv_heads; ++h) append_head(h);
  } else {
    exec.pool.run(config.kv_heads, append_head);
  }

  Tiling tiling{group, static_cast<std::size_t>(kernels.tile), config.kv_heads};
  if (tiling.per_head > tiling.tile) tiling.per_head = 1;
  std::size_t tasks = 0;
  for (const SequenceRows& run : runs) tasks += tiling.tasks(run.count);
  // One token over a long context: a task per query head keeps all threads busy, at the price of reading keys once per head.
  if (tasks < static_cast<std::size_t>(exec.pool.threads()) * 2) tiling.per_head = 1;
  tiling.groups = config.heads / tiling.per_head;
  if (tiling.per_head != 1) tiling.tile = tiling.tile / tiling.per_head * tiling.per_head;
  tasks = 0;
  for (const SequenceRows& run : runs) tasks += tiling.tasks(run.count);

  const auto run_task = [&](std::size_t part, int worker) {
    std::size_t s = 0;
    for (; part >= tiling.tasks(runs[s].count); ++s) part -= tiling.tasks(runs[s].count);
    const std::size_t first_head = part % tiling.groups * tiling.per_head, begin = part / tiling.groups * tiling.tile;
    const std::size_t queries = runs[s].count * tiling.per_head;
    const std::size_t count = queries - begin < tiling.tile ? queries - begin : tiling.tile;
    std::array<const float*, kMaxAttentionTile> inputs;
    std::array<float*, kMaxAttentionTile> outputs;
    std::array<std::uint32_t, kMaxAttentionTile> positions;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t row = (begin + i) / tiling.per_head, head = first_head + (begin + i) % tiling.per_head;
      inputs[i] = q.row(runs[s].first + row) + head * dim;
      outputs[i] = out.row(runs[s].first + row) + head * dim;
      positions[i] = static_cast<std::uint32_t>(runs[s].position + row);
    }
    kernels.attend({&config, scale, softcap, caches[s], first_head / group, count, inputs.data(), outputs.data(), positions.data(),
                    memory + static_cast<std::size_t>(worker) * scratch});
  };
  // A single short row is done sooner than a worker wakes.
  if (tasks * last * dim < 16384) {
    for (std::size_t part = 0; part < tasks; ++part) run_task(part, 0);
  } else {
    exec.pool.run(tasks, run_task);
  }
}

}  // namespace loom
