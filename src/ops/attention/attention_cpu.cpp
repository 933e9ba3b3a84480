#include "ops/attention/attention.h"

#include "ops/chain.h"
#include "simd/math.h"
#include "simd/rows.h"

namespace loom::inline LOOM_TARGET {
namespace {

LOOM_INLINE F32x16 lane_numbers() {
  F32x16 v;
  for (std::size_t i = 0; i < kRegisters; ++i)
    for (std::size_t j = 0; j < kRegisterLanes; ++j) v.r[i][j] = static_cast<float>(i * kRegisterLanes + j);
  return v;
}

struct Visible {
  std::size_t begin, end;   // positions [begin, end)
};

// All ones where lane i of the sixteen positions from `position` is visible.
LOOM_INLINE I32x16 visible_lanes(const F32x16& numbers, std::size_t position, Visible v) {
  const float from = static_cast<float>(v.begin > position ? v.begin - position : 0);
  const float to = static_cast<float>(v.end > position ? v.end - position : 0);
  return (numbers >= splat(from)) & (numbers < splat(to));
}

template <int T>
void scores(const AttentionTask& task, const float* packed, std::size_t first_block, std::size_t blocks, std::size_t stride, float* out) {
  const std::size_t dim = task.config->head_dim;
  const F32x16 scale = splat(task.scale);
  for (std::size_t b = 0; b < blocks; ++b) {
    const float* keys = task.cache->keys(task.kv_head, first_block + b);
    for (std::size_t panel = 0; panel < kCacheBlock / kLanes; ++panel, keys += dim * kLanes) {
      alignas(64) float total[T][kLanes] = {};
      add_chain<float, T>(keys, {packed, dim}, dim, total[0]);
      for (int t = 0; t < T; ++t) store(out + t * stride + b * kCacheBlock + panel * kLanes, snap(snap(load(total[t])) * scale));
    }
  }
}

// One row of scores to probabilities, in place; a visible NaN makes the whole row NaN. `base` is the position of s[0], a multiple of 64.
void softmax(float* s, std::size_t base, std::size_t n, Visible visible) {
  const F32x16 numbers = lane_numbers();
  const F32x16 lowest = splat(-__builtin_inff());
  F32x16 top = lowest;
  for (std::size_t i = 0; i < n; i += kLanes) {
    const F32x16 v = load(s + i);
    top = max(select(visible_lanes(numbers, base + i, visible), v, lowest), top);
  }
  const F32x16 largest = splat(max_lane(top));
  LaneSum<float> sum;
  for (std::size_t i = 0; i < n; i += kLanes) {
    if ((base + i) % kLaneBlock == 0) sum.end_block();
    const I32x16 mask = visible_lanes(numbers, base + i, visible);
    const F32x16 e = as_float(bits(snap(exp(snap(load(s + i) - largest)))) & mask);
    sum.add(e);
    store(s + i, e);
  }
  sum.end_block();
  const F32x16 total = splat(fold(sum.total));
  for (std::size_t i = 0; i < n; i += kLanes) store(s + i, snap(load(s + i) / total));
}

// s = c tanh(s / c).
void cap(float* s, std::size_t n, float softcap) {
  const F32x16 c = splat(softcap);
  for (std::size_t i = 0; i < n; i += kLanes) store(s + i, snap(c * snap(tanh(snap(load(s + i) / c)))));
}

template <int T>
void values(const AttentionTask& task, const float* p, std::size_t first_block, std::size_t blocks, std::size_t stride) {
  const std::size_t dim = task.config->head_dim, panels = task.cache->padded_dim() / kLanes;
  for (std::size_t panel = 0; panel < panels; ++panel) {
    alignas(64) float total[T][kLanes] = {};
    for (std::size_t b = 0; b < blocks; ++b)
      add_chain<float, T>(task.cache->values(task.kv_head, first_block + b) + panel * kCacheBlock * kLanes, {p + b * kCacheBlock, stride}, kCacheBlock,
                          total[0]);
    for (int t = 0; t < T; ++t) {
      alignas(64) float lanes[kLanes];
      store(lanes, snap(load(total[t])));
      for (std::size_t i = 0; i < kLanes && panel * kLanes + i < dim; ++i) task.outputs[t][panel * kLanes + i] = lanes[i];
    }
  }
}

template <int T>
void attend_tile(const AttentionTask& task) {
  const std::size_t dim = task.config->head_dim, window = task.config->window;
  const auto visible = [&](int t) {
    const std::size_t end = task.positions[t] + std::size_t{1};
    return Visible{window != 0 && end > window ? end - window : 0, end};
  };
  const std::size_t first_block = visible(0).begin / kCacheBlock;
  const std::size_t blocks = (visible(T - 1).end + kCacheBlock - 1) / kCacheBlock - first_block;
  const std::size_t stride = blocks * kCacheBlock;
  float* const packed = task.scratch;
  float* const s = packed + T * dim;
  for (int t = 0; t < T; ++t) __builtin_memcpy(packed + t * dim, task.queries[t], dim * sizeof(float));
  scores<T>(task, packed, first_block, blocks, stride, s);
  if (task.softcap != 0) cap(s, T * stride, task.softcap);
  for (int t = 0; t < T; ++t) softmax(s + t * stride, first_block * kCacheBlock, stride, visible(t));
  values<T>(task, s, first_block, blocks, stride);
}

void attend(const AttentionTask& task) {
  with_count<kTile<float>>(static_cast<int>(task.count), [&]<int T>() { attend_tile<T>(task); });
}

void append(KvCache& cache, std::size_t kv_head, std::size_t position, const float* key, const float* value) {
  const std::size_t dim = cache.config().head_dim, in_block = position % kCacheBlock;
  float* k = cache.keys(kv_head, position / kCacheBlock) + in_block / kLanes * dim * kLanes + in_block % kLanes;
  float* v = cache.values(kv_head, position / kCacheBlock) + in_block * kLanes;
  for (std::size_t d = 0; d < dim; ++d) {
    k[d * kLanes] = key[d];
    v[d / kLanes * kCacheBlock * kLanes + d % kLanes] = value[d];
  }
}

}  // namespace

extern const AttentionKernels attention_kernels;
const AttentionKernels attention_kernels = {.tile = kTile<float>, .attend = attend, .append = append};

}  // namespace loom::inline LOOM_TARGET
