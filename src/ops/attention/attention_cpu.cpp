#include "ops/attention/attention.h"

#include "dtypes/panel_codecs.h"
#include "ops/chain.h"
#include "ops/non_finite.h"
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
  std::size_t begin, end;  // positions [begin, end)
};

// All ones where lane i of the sixteen positions from `position` is visible.
LOOM_INLINE I32x16 visible_lanes(const F32x16& numbers, std::size_t position, Visible v) {
  const float from = static_cast<float>(v.begin > position ? v.begin - position : 0);
  const float to = static_cast<float>(v.end > position ? v.end - position : 0);
  return (numbers >= splat(from)) & (numbers < splat(to));
}

// Codes of int8 as f32, without their scale: read as bytes, which shifts those below zero by 256.
struct Int8Codec {
  static constexpr std::size_t kColumnBytes = kLanes;
  static LOOM_INLINE F32x16 decode16(const std::byte* p) {
    return to_float((load_bytes16(p) ^ splat(std::int32_t{128})) - splat(std::int32_t{128}));
  }
};

// `columns` times sixteen numbers into `room`, each times scale(column).
template <class Codec, class Scale>
LOOM_INLINE const float* decode(const std::byte* from, std::size_t columns, float* room, Scale&& scale) {
  for (std::size_t i = 0; i < columns; ++i)
    store(room + i * kLanes, scale(i, Codec::decode16(from + i * Codec::kColumnBytes)));
  return room;
}
constexpr auto kUnscaled = [](std::size_t, const F32x16& numbers) { return numbers; };

// Keys of sixteen positions, [head_dim][16]: in the cache where it holds f32, else converted into `room`.
const float* key_panel(const AttentionTask& task, std::size_t block, std::size_t panel, float* room) {
  const KvCache::Config& config = task.cache->config();
  const std::size_t dim = config.head_dim;
  const std::byte* const from = task.cache->keys(task.kv_head, block) + panel * dim * kLanes * task.cache->item_bytes();
  if (config.dtype == DType::float32) return reinterpret_cast<const float*>(from);
  if (config.dtype == DType::bfloat16) return decode<BFloat16Codec>(from, dim, room, kUnscaled);
  const F32x16 scales = load(task.cache->key_scales(task.kv_head, block) + panel * kLanes);
  return decode<Int8Codec>(from, dim, room, [&](std::size_t, const F32x16& codes) { return codes * scales; });
}

// Sixteen elements of the values of a block, [64 positions][16].
const float* value_panel(const AttentionTask& task, std::size_t block, std::size_t panel, float* room) {
  const KvCache::Config& config = task.cache->config();
  const std::byte* const from =
      task.cache->values(task.kv_head, block) + panel * kCacheBlock * kLanes * task.cache->item_bytes();
  if (config.dtype == DType::float32) return reinterpret_cast<const float*>(from);
  if (config.dtype == DType::bfloat16) return decode<BFloat16Codec>(from, kCacheBlock, room, kUnscaled);
  const float* const scales = task.cache->value_scales(task.kv_head, block);
  return decode<Int8Codec>(from, kCacheBlock, room,
                           [&](std::size_t p, const F32x16& codes) { return codes * splat(scales[p]); });
}

// Prefetch for a few queries, which wait for keys and values from memory; many queries find them in the core's cache.
template <int T>
inline constexpr bool kAsks = T <= 4;

// The positions that queries see: blocks from the first one on, and in them as many positions, a multiple of sixteen.
struct Span {
  std::size_t first_block, positions;
  std::size_t blocks() const { return (positions + kCacheBlock - 1) / kCacheBlock; }
};

// Keys are read position by position, then values block by block, then the keys of the next head.
NextPanel next_keys(const AttentionTask& task, Span span, std::size_t position) {
  KvCache& cache = *task.cache;
  const std::size_t bytes = kLanes * cache.item_bytes();
  if (position >= span.positions) return {cache.values(task.kv_head, span.first_block), bytes};
  const std::size_t panel = position % kCacheBlock / kLanes * cache.config().head_dim * bytes;
  return {cache.keys(task.kv_head, span.first_block + position / kCacheBlock) + panel, bytes};
}
NextPanel next_values(const AttentionTask& task, Span span, std::size_t block, std::size_t panel) {
  KvCache& cache = *task.cache;
  const std::size_t bytes = kLanes * cache.item_bytes();
  if (panel == cache.padded_dim() / kLanes) ++block, panel = 0;
  if (block < span.blocks())
    return {cache.values(task.kv_head, span.first_block + block) + panel * kCacheBlock * bytes, bytes};
  const std::size_t head = task.kv_head + 1 < cache.config().kv_heads ? task.kv_head + 1 : 0;
  return {cache.keys(head, span.first_block), bytes};
}

template <int T>
void scores(const AttentionTask& task, const float* packed, Span span, float* out, float* room) {
  const std::size_t dim = task.config->head_dim;
  const F32x16 scale = splat(task.scale);
  for (std::size_t i = 0; i < span.positions; i += kLanes) {
    alignas(64) float total[T][kLanes] = {};
    const float* const keys = key_panel(task, span.first_block + i / kCacheBlock, i % kCacheBlock / kLanes, room);
    add_chain<float, T, false, kAsks<T>>(keys, {packed, dim}, dim, total[0], kChain, next_keys(task, span, i + kLanes));
    for (int t = 0; t < T; ++t)
      store(out + static_cast<std::size_t>(t) * span.positions + i, snap(snap(load(total[t])) * scale));
  }
}

// One row of scores to probabilities, in place; a visible NaN makes the whole row NaN. `base` is the position of s[0],
// a multiple of 64.
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

// Blocks are taken in the order of memory. `totals` has room for T rows of values, padded. Positions of [from, to) that
// a row does not see have probability 0, which changes no sum of finite values.
template <int T>
void values(const AttentionTask& task, const float* p, Span span, std::size_t from, std::size_t to, float* room,
            float* totals) {
  const std::size_t dim = task.config->head_dim, panels = task.cache->padded_dim() / kLanes;
  __builtin_memset(totals, 0, panels * T * kLanes * sizeof(float));
  for (std::size_t b = 0; b < span.blocks(); ++b) {
    const std::size_t first = b * kCacheBlock, begin = from > first ? from - first : 0,
                      end = to - first < kCacheBlock ? to - first : kCacheBlock;
    for (std::size_t panel = 0; panel < panels; ++panel)
      add_chain<float, T, false, kAsks<T>>(value_panel(task, span.first_block + b, panel, room) + begin * kLanes,
                                           {p + first + begin, span.positions}, end - begin,
                                           totals + panel * T * kLanes, kChain, next_values(task, span, b, panel + 1));
  }
  for (std::size_t panel = 0; panel < panels; ++panel)
    for (std::size_t t = 0; t < T; ++t) {
      alignas(64) float lanes[kLanes];
      store(lanes, snap(load(totals + (panel * T + t) * kLanes)));
      for (std::size_t i = 0; i < kLanes && panel * kLanes + i < dim; ++i)
        task.outputs[t][panel * kLanes + i] = lanes[i];
    }
}

bool are_finite(const AttentionTask& task) {
  std::uint32_t odd = 0;
  for (std::size_t t = 0; t < task.count; ++t)
    for (std::size_t d = 0; d < task.config->head_dim; ++d) odd |= !is_finite(task.outputs[t][d]);
  return odd == 0;
}

// A value that is not finite, times the probability 0 of a row that does not see it, would reach that row's sum, and
// which rows share a tile depends on the target: such a tile is done again, row by row.
template <int T>
void attend_tile(const AttentionTask& task) {
  const std::size_t dim = task.config->head_dim, window = task.config->window;
  const auto visible = [&](int t) {
    const std::size_t end = task.positions[t] + std::size_t{1};
    return Visible{window != 0 && end > window ? end - window : 0, end};
  };
  const std::size_t first_block = visible(0).begin / kCacheBlock, first = first_block * kCacheBlock;
  const Span span{first_block, (visible(T - 1).end - first + kLanes - 1) / kLanes * kLanes};
  float* const room = task.scratch;  // of one panel
  float* const packed = room + kLanes * (dim > kCacheBlock ? dim : kCacheBlock);
  float* const s = packed + T * task.cache->padded_dim();
  for (int t = 0; t < T; ++t) __builtin_memcpy(packed + t * dim, task.queries[t], dim * sizeof(float));
  scores<T>(task, packed, span, s, room);
  if (task.softcap != 0) cap(s, T * span.positions, task.softcap);
  for (int t = 0; t < T; ++t)
    softmax(s + static_cast<std::size_t>(t) * span.positions, first, span.positions, visible(t));
  const std::size_t from = T == 1 ? visible(0).begin - first : 0, to = visible(T - 1).end - first;
  values<T>(task, s, span, from, to, room, packed);
  if constexpr (T > 1)
    if (!are_finite(task))
      for (int t = 0; t < T; ++t) {
        AttentionTask one = task;
        one.count = 1, one.queries += t, one.outputs += t, one.positions += t;
        attend_tile<1>(one);
      }
}

void attend(const AttentionTask& task) {
  with_count<kTile<float>>(static_cast<int>(task.count), [&]<int T>() { attend_tile<T>(task); });
}

// Elements [begin, begin + n) of one row of one head into the two layouts.
template <class Item>
void scatter(KvCache& cache, std::size_t kv_head, std::size_t position, std::size_t begin, std::size_t n,
             const Item* key, const Item* value) {
  const std::size_t dim = cache.config().head_dim, block = position / kCacheBlock, i = position % kCacheBlock;
  Item* const k = reinterpret_cast<Item*>(cache.keys(kv_head, block)) + i / kLanes * dim * kLanes + i % kLanes;
  Item* const v = reinterpret_cast<Item*>(cache.values(kv_head, block)) + i * kLanes;
  for (std::size_t j = 0; j < n; ++j) {
    const std::size_t d = begin + j;
    k[d * kLanes] = key[j];
    v[d / kLanes * kCacheBlock * kLanes + d % kLanes] = value[j];
  }
}

template <class Code>
void append_codes(KvCache& cache, std::size_t kv_head, std::size_t position, const float* key, const float* value) {
  constexpr std::size_t kAtOnce = 128;
  const std::size_t dim = cache.config().head_dim, block = position / kCacheBlock;
  const DType dtype = cache.config().dtype;
  float scales[2] = {1, 1};
  if (dtype == DType::int8) {
    cache.key_scales(kv_head, block)[position % kCacheBlock] = scales[0] = cached_scale(key, dim);
    cache.value_scales(kv_head, block)[position % kCacheBlock] = scales[1] = cached_scale(value, dim);
  }
  for (std::size_t d = 0; d < dim; d += kAtOnce) {
    Code codes[2][kAtOnce];
    const std::size_t n = dim - d < kAtOnce ? dim - d : kAtOnce;
    encode_cached(key + d, n, scales[0], codes[0]);
    encode_cached(value + d, n, scales[1], codes[1]);
    scatter(cache, kv_head, position, d, n, codes[0], codes[1]);
  }
}

void append(KvCache& cache, std::size_t kv_head, std::size_t position, const float* key, const float* value) {
  switch (cache.config().dtype) {
    case DType::int8: return append_codes<std::int8_t>(cache, kv_head, position, key, value);
    case DType::bfloat16: return append_codes<std::uint16_t>(cache, kv_head, position, key, value);
    default: return scatter(cache, kv_head, position, 0, cache.config().head_dim, key, value);
  }
}

}  // namespace

extern const AttentionKernels attention_kernels;
const AttentionKernels attention_kernels = {.tile = kTile<float>, .attend = attend, .append = append};

}  // namespace loom::inline LOOM_TARGET
