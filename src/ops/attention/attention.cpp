#include "ops/attention/attention.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/checked.h"
#include "ops/all.h"
#include "ops/attention/attention_gpu.h"
#include "ops/dispatch.h"

namespace loom {
namespace {

// The tasks of one op: for every sequence and kv head, its (row, head) queries in tiles, rows ascending.
struct Tiling {
  std::size_t per_head = 1;  // query heads that share a task: the whole group, or one when threads would be idle
  std::size_t tile = 1;
  std::size_t groups = 1;  // kv_heads * (heads per kv head / per_head)

  std::size_t tasks(std::size_t rows) const { return ceil_div(rows * per_head, tile) * groups; }
  std::size_t tasks(std::span<const SequenceRows> runs) const {
    std::size_t n = 0;
    for (const SequenceRows& run : runs) n += tasks(run.count);
    return n;
  }
};

// Heads that share their keys and values are one task, since reading these takes as long as two queries' sums. But
// where threads would be idle, each head is one, at the price of reading them once per head.
Tiling tiling_for(const AttentionConfig& config, std::size_t tile, std::span<const SequenceRows> runs,
                  std::size_t threads) {
  const std::size_t group = config.heads / config.kv_heads;
  const Tiling alone{1, tile, config.heads};
  if (group > tile) return alone;
  const Tiling together{group, tile / group * group, config.kv_heads};
  std::size_t rows = 0;
  for (const SequenceRows& run : runs) rows = std::max(rows, run.count);
  const auto time = [&](const Tiling& t) {
    constexpr std::size_t kReading = 2;
    return ceil_div(t.tasks(runs), threads) * (kReading + std::min(t.tile, rows * t.per_head));
  };
  return time(alone) < time(together) ? alone : together;
}

// Runs before the call: kernels that the call records may be dropped and recorded again, and a cache grows once.
void extend(const Exec& exec, std::span<const SequenceRows> runs, std::span<KvCache> caches) {
  for (const SequenceRows& run : runs) {
    if (auto extended = caches[run.sequence].extend(run.position, run.count); !extended) {
      exec.status = std::move(extended).error();
      return;
    }
  }
}

}  // namespace

template <class T>
T attention_scale(const AttentionConfig& config) {
  return config.scale != 0 ? static_cast<T>(config.scale) : T{1} / std::sqrt(static_cast<T>(config.head_dim));
}
template float attention_scale<float>(const AttentionConfig&);
template double attention_scale<double>(const AttentionConfig&);

void attention(const Exec& exec, const AttentionConfig& config, ConstTensor q, ConstTensor k, ConstTensor v,
               std::span<const SequenceRows> runs, std::span<KvCache> caches, Tensor out) {
  if (!exec.rehearsal() && !exec.status) extend(exec, runs, caches);
  if (exec.status) return;
  for (const Exec& host : dispatch(exec, [&] { gpu::attention(exec, config, q, k, v, runs, caches, out); })) {
    const AttentionKernels& kernels = host.kernels.attention;
    const std::size_t dim = config.head_dim, group = config.heads / config.kv_heads;
    const auto scale = attention_scale<float>(config), softcap = static_cast<float>(config.softcap);
    std::size_t last = 0;
    for (const SequenceRows& run : runs) last = std::max(last, run.position + run.count);
    const std::size_t span = config.window == 0 ? last : std::min(last, config.window + kMaxAttentionTile);
    const ArenaScope scope(host.arena);
    const std::size_t scratch = attention_scratch_floats(dim, span);
    float* const memory = host.arena.take<float>(scratch * static_cast<std::size_t>(host.pool.threads()));
    if (!host.computes()) return;
    const auto append_head = [&](std::size_t h) {
      for (const SequenceRows& run : runs)
        for (std::size_t i = 0; i < run.count; ++i)
          kernels.append(caches[run.sequence], h, run.position + i, k.row(run.first + i) + h * dim,
                         v.row(run.first + i) + h * dim);
    };
    if (q.rows < 16) {
      for (std::size_t h = 0; h < config.kv_heads; ++h)
        for (const SequenceRows& run : runs) caches[run.sequence].ask_for_row(h, run.position);
      for (std::size_t h = 0; h < config.kv_heads; ++h) append_head(h);
    } else {
      host.pool.run(config.kv_heads, append_head);
    }

    const Tiling tiling =
        tiling_for(config, static_cast<std::size_t>(kernels.tile), runs, static_cast<std::size_t>(host.pool.threads()));
    const std::size_t tasks = tiling.tasks(runs);

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
      kernels.attend({&config, scale, softcap, &caches[runs[s].sequence], first_head / group, count, inputs.data(),
                      outputs.data(), positions.data(), memory + static_cast<std::size_t>(worker) * scratch});
    };
    // A single short row is done sooner than a worker wakes.
    if (tasks * last * dim < 16384) {
      for (std::size_t part = 0; part < tasks; ++part) run_task(part, 0);
    } else {
      host.pool.run(tasks, run_task);
    }
  }
}

}  // namespace loom
