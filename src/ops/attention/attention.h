#pragma once
// Causal attention over a cache of keys and values (Vaswani et al. 2017; grouped heads: Ainslie et al. 2023).
//   s_j = scale * dot(q, k_j) for visible j, or c tanh(s_j / c) with a softcap c;  p = softmax(s);  o = sum_j p_j v_j
// Orders: dot by chain64 over the head; the sum of exp by lanes16 over absolute positions; o by chain64 over absolute positions, so
// chunked prefill, one-token decode, batches and restored caches agree. Snapped: s and each step of the cap, s - max, exp, p, o.
// Visible to a row at position t: j <= t, and j > t - window when window > 0.

#include <cstdint>
#include <span>

#include "backend/exec.h"
#include "simd/orders.h"

namespace loom {

inline constexpr std::size_t kCacheBlock = kChain;  // positions that lie together: one chain64 block of the value sum

// Keys and values of one sequence in one layer. Per kv head and block of 64 positions:
//   keys [4][head_dim][16 positions], values [padded_dim/16][64 positions][16]; both are panels for the f32 kernels.
class KvCache {
 public:
  struct Config {
    std::size_t kv_heads = 0, head_dim = 0, max_positions = 0;
    std::size_t window = 0;      // 0: every position is kept; else a ring that holds `window` positions and one chunk
    std::size_t max_chunk = 0;   // rows appended at once
  };
  static Result<KvCache> create(const Config& config);

  float* keys(std::size_t kv_head, std::size_t block) { return at(kv_head, block); }
  float* values(std::size_t kv_head, std::size_t block) { return at(kv_head, block) + kCacheBlock * config_.head_dim; }
  const Config& config() const { return config_; }
  std::size_t padded_dim() const { return (config_.head_dim + 15) / 16 * 16; }
  // One position of one head, for saving and restoring: head_dim keys, head_dim values.
  void read(std::size_t kv_head, std::size_t position, float* key, float* value) const;
  void write(std::size_t kv_head, std::size_t position, const float* key, const float* value);
  // Positions [begin, end) read as zeros again: what was there, a NaN say, meets no sum when its block is used anew.
  void forget(std::size_t begin, std::size_t end);
  // First position that is still held when `next` positions have been appended.
  std::size_t first_held(std::size_t next) const;

 private:
  float* at(std::size_t kv_head, std::size_t block) { return memory_.as<float>() + (kv_head * slots_ + block % slots_) * block_floats_; }
  Config config_;
  std::size_t slots_ = 0, block_floats_ = 0;
  Buffer memory_;
};

// Rows of one sequence inside a batch: x rows [first, first + count) stand at positions [position, position + count).
struct SequenceRows {
  std::size_t first = 0, count = 0;
  std::size_t position = 0;
  std::size_t sequence = 0;  // index of the session's sequence, whose cache they use
};

struct AttentionConfig {
  std::size_t heads = 0, kv_heads = 0, head_dim = 0;
  std::size_t window = 0;
  double scale = 0;     // 0: 1 / sqrt(head_dim)
  double softcap = 0;   // 0: none
  bool causal = true;   // what reads a cache is
};

// Appends k, v [rows, kv_heads * head_dim] to the caches, then attends with q [rows, heads * head_dim] into out (same shape).
// caches[s] belongs to runs[s].
void attention(const Exec& exec, const AttentionConfig& config, ConstTensor q, ConstTensor k, ConstTensor v, std::span<const SequenceRows> runs,
               std::span<KvCache* const> caches, Tensor out);

// The scale in the arithmetic of T.
template <class T>
T attention_scale(const AttentionConfig& config);

// Kernel side: up to kTileTokens queries of one kv head, each one row and head.
struct AttentionTask {
  const AttentionConfig* config;
  float scale, softcap;
  KvCache* cache;
  std::size_t kv_head;
  std::size_t count;                    // queries
  const float* const* queries;          // [count] -> head_dim
  float* const* outputs;
  const std::uint32_t* positions;       // [count], ascending
  float* scratch;                       // attention_scratch_floats()
};
struct AttentionKernels {
  int tile;                             // queries per task at most
  void (*attend)(const AttentionTask&);
  void (*append)(KvCache& cache, std::size_t kv_head, std::size_t position, const float* key, const float* value);
};
inline constexpr std::size_t kMaxAttentionTile = 12;
// Scores of one task over `span` positions and its packed queries.
constexpr std::size_t attention_scratch_floats(std::size_t head_dim, std::size_t span) {
  return kMaxAttentionTile * ((span + 2 * kCacheBlock) / kCacheBlock * kCacheBlock + head_dim + 16);
}

}  // namespace loom
