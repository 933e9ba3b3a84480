#pragma once
// Causal attention over a cache of keys and values (Vaswani et al. 2017; grouped heads: Ainslie et al. 2023).
//   s_j = scale * dot(q, k_j) for visible j, or c tanh(s_j / c) with a softcap c;  p = softmax(s);  o = sum_j p_j v_j
// Orders: dot by chain64 over the head; the sum of exp by lanes16 over absolute positions; o by chain64 over absolute
// positions, so chunked prefill, one-token decode, batches and restored caches agree. Snapped: s and each step of the
// cap, s - max, exp, p, o. Visible to a row at position t: j <= t, and j > t - window when window > 0.

#include <cstdint>
#include <span>

#include "backend/exec.h"
#include "ops/attention/kv_cache.h"

namespace loom {

// Rows of one sequence inside a batch: x rows [first, first + count) stand at positions [position, position + count).
struct SequenceRows {
  std::size_t first = 0, count = 0;
  std::size_t position = 0;
  std::size_t sequence = 0;  // index of the sequence, whose cache they use
};

struct AttentionConfig {
  std::size_t heads = 0, kv_heads = 0, head_dim = 0;
  std::size_t window = 0;
  double scale = 0;    // 0: 1 / sqrt(head_dim)
  double softcap = 0;  // 0: none
  bool causal = true;  // what reads a cache is
};

// Appends k, v [rows, kv_heads * head_dim] to the caches, then attends with q [rows, heads * head_dim] into out (same
// shape). caches are those of all sequences. OutOfMemory, in exec.status, where a cache cannot grow.
void attention(const Exec& exec, const AttentionConfig& config, ConstTensor q, ConstTensor k, ConstTensor v,
               std::span<const SequenceRows> runs, std::span<KvCache> caches, Tensor out);

// The scale in the arithmetic of T.
template <class T>
T attention_scale(const AttentionConfig& config);

// Kernel side: up to kTileTokens queries of one kv head, each one row and head.
struct AttentionTask {
  const AttentionConfig* config;
  float scale, softcap;
  KvCache* cache;
  std::size_t kv_head;
  std::size_t count;            // queries
  const float* const* queries;  // [count] -> head_dim
  float* const* outputs;
  const std::uint32_t* positions;  // [count], ascending
  float* scratch;                  // attention_scratch_floats()
};
struct AttentionKernels {
  int tile;  // queries per task at most
  void (*attend)(const AttentionTask&);
  // Encodes one row of one head.
  void (*append)(KvCache& cache, std::size_t kv_head, std::size_t position, const float* key, const float* value);
};
inline constexpr std::size_t kMaxAttentionTile = 12;
// Scores of one task over `span` positions, its packed queries, and a panel of a cache as f32.
constexpr std::size_t attention_scratch_floats(std::size_t head_dim, std::size_t span) {
  return kMaxAttentionTile * ((span + 2 * kCacheBlock) / kCacheBlock * kCacheBlock + head_dim + 16) +
         16 * (head_dim > kCacheBlock ? head_dim : kCacheBlock);
}

}  // namespace loom
