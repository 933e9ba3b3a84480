#pragma once
// Keys and values of one sequence in one attention layer (engine L-74): appended as the sequence grows, rewound, saved.
// Each key-value head and block of 64 positions has
//   keys [4][head_dim][16 positions], values [padded_dim/16][64 positions][16]; both are panels for the f32 kernels,
//   and for int8 the scales of 64 keys and of 64 values.
// The blocks of all heads over the same 64 positions are one piece of memory, taken when a pass first reaches it: a
// long context costs what has been written, on every system, and what is rewound keeps its memory for what follows.
// Caches of one owner take their pieces from one pool, so that they are on large pages.
// As float32 a number is what was appended; as bfloat16 it is rounded to nearest, ties to even; as int8 a row of one
// head is codes times a scale, s = max|x| / 127 and code = x / s rounded to nearest, ties to even. A row with a number
// that is not finite is NaN throughout.

#include <cstdint>
#include <span>
#include <vector>

#include "backend/device.h"
#include "core/checked.h"
#include "dtypes/dtype.h"
#include "simd/orders.h"

namespace loom {

inline constexpr std::size_t kCacheBlock = kChain;  // positions of one block: one chain64 block of the value sum

// Zeroed pieces of host memory, counted by reference. The first pieces have exactly the requested size; later ones are
// cut out of 2 MiB pages. A piece without owners is reused for pieces of the same size; the system gets it back at the
// end.
class PiecePool {
 public:
  struct Piece {
    std::byte* data = nullptr;
    std::size_t bytes = 0;
    std::uint32_t number = 0;
  };
  // With one owner, at a multiple of 64 bytes. OutOfMemory, after which the pool is what it was.
  Result<Piece> take(std::size_t bytes);
  // One owner more, one owner less.
  void share(const Piece& piece) { ++owners_[piece.number]; }
  void give_back(const Piece& piece);
  bool is_shared(const Piece& piece) const { return owners_[piece.number] > 1; }
  // Bytes of all pieces that have an owner, each counted once.
  std::size_t used_bytes() const { return used_bytes_; }
  // So that no list grows before there are so many pieces.
  void reserve(std::size_t pieces) { buffers_.reserve(pieces), free_.reserve(pieces), owners_.reserve(pieces); }

 private:
  std::vector<Buffer> buffers_;
  std::vector<Piece> free_;            // with room for all pieces, so that giving one back takes no memory
  std::vector<std::uint32_t> owners_;  // [number of the piece]
  std::size_t used_ = 0;               // of the last buffer
  std::size_t taken_ = 0;              // in all
  std::size_t used_bytes_ = 0;
};

class KvCache {
 public:
  struct Config {
    std::size_t kv_heads = 0, head_dim = 0, max_positions = 0;
    std::size_t window = 0;     // 0: every position is kept; else a ring that holds `window` positions and one chunk
    std::size_t max_chunk = 0;  // rows appended at once
    DType dtype = DType::float32;
    Device* device = nullptr;
    PiecePool* pool = nullptr;  // of pieces without a device, which outlives the cache; null: each on its own
  };
  // Takes no memory for positions yet. InvalidArgument for another type than float32, bfloat16 and int8; SizeOverflow.
  static Result<KvCache> create(const Config& config);
  KvCache(KvCache&&) noexcept = default;
  KvCache& operator=(KvCache&& other) noexcept;
  ~KvCache();
  static bool holds(DType dtype);

  const Config& config() const { return config_; }
  std::size_t padded_dim() const { return (config_.head_dim + 15) / 16 * 16; }
  std::size_t item_bytes() const { return item_bytes_; }
  // Memory of one position.
  std::size_t position_bytes() const { return config_.kv_heads * block_bytes_ / kCacheBlock; }
  // The numbers of a block, for kernels; extend() has reached it.
  std::byte* keys(std::size_t kv_head, std::size_t block) {
    const auto [memory, offset] = place_of(block);
    return memory.data() + offset + kv_head * block_bytes_;
  }
  std::byte* values(std::size_t kv_head, std::size_t block) {
    return keys(kv_head, block) + kCacheBlock * config_.head_dim * item_bytes_;
  }
  // Asks for the lines that a row of one head goes to: a key has one for each of its elements.
  void ask_for_row(std::size_t kv_head, std::size_t position) {
    const std::size_t i = position % kCacheBlock, line = 16 * item_bytes_;
    std::byte* const from = keys(kv_head, position / kCacheBlock) + i / 16 * config_.head_dim * line;
    for (std::size_t d = 0; d < config_.head_dim; ++d) __builtin_prefetch(from + d * line, 1);
    std::byte* const to = values(kv_head, position / kCacheBlock) + i * line;
    for (std::size_t d = 0; d < config_.head_dim; d += 16) __builtin_prefetch(to + d / 16 * kCacheBlock * line, 1);
  }
  float* key_scales(std::size_t kv_head, std::size_t block) {
    return reinterpret_cast<float*>(values(kv_head, block) + kCacheBlock * padded_dim() * item_bytes_);
  }
  float* value_scales(std::size_t kv_head, std::size_t block) { return key_scales(kv_head, block) + kCacheBlock; }

  // On a device: all blocks, contiguous, in the order of their slots; a ring has a fixed number.
  std::byte* device_blocks() { return blocks_[0].data(); }
  std::size_t slots() const { return slots_; }

  // The next pass writes positions [position, position + count), in blocks whose other rows are zeros. Takes memory
  // once per block of positions. OutOfMemory, with the cache as it was but for blocks that nothing has reached.
  Result<void> extend(std::size_t position, std::size_t count);
  // The first position that is held; a ring has lost the earlier ones, even after a rewind.
  std::size_t held_from() const { return held_from_; }
  // Like `held_from()`, once `next` positions have been appended.
  std::size_t first_held(std::size_t next) const;
  // Returns whether a sequence that ends at n can go on: all that position n sees is held.
  bool continues_at(std::size_t n) const;
  // Positions from n on read as zeros again, so that an old value, a NaN for example, reaches no sum when its block is
  // reused.
  void rewind(std::size_t n);
  // Like rewind(), and returns the memory after the first n positions to the pool, if there is one.
  void clear(std::size_t n = 0);
  // Returns whether share() of the first n positions can be called: both are in one pool, and no position was lost.
  bool can_share(const KvCache& from, std::size_t n) const;
  // Replaces the contents by the first n positions of a cache of equal extents. Whole blocks are shared: a cache that
  // writes to one copies it first. OutOfMemory, after which the cache is empty.
  Result<void> share(const KvCache& from, std::size_t n);

  // Positions [held_from(), n) through an archive of network/session/state_archive.h, in the order of memory; none
  // where a sequence of n could not go on. One that reads begins with an empty cache and may end with less, where its
  // ring is smaller. OutOfMemory of one that reads.
  template <class Archive>
  Result<void> visit(Archive& archive, std::size_t n);

 private:
  KvCache() = default;
  bool is_pooled() const { return config_.device == nullptr && config_.pool != nullptr; }
  // A block in the host's hands.
  struct Block {
    std::size_t index = ~std::size_t{0};
    std::vector<std::byte> bytes;
  };
  // A row of one head: head_dim keys, head_dim values, and for int8 their scales.
  struct Row {
    std::vector<std::byte> key, value;
    float scales[2] = {0, 0};
  };
  // Takes the memory of all blocks in front of number `end`.
  Result<void> reach(std::size_t end);
  void own(const PiecePool::Piece& piece);
  void give_back_from(std::size_t block);
  bool is_shared(std::size_t block) const;
  // Copies a block that other caches share, before it is written to.
  Result<void> unshare(std::size_t block);
  Result<void> grow_on_device(std::size_t slots);
  // Memory of a block of all heads, and where in it that begins.
  struct BlockPlace {
    Memory& memory;
    std::size_t offset;
  };
  BlockPlace place_of(std::size_t block) const {
    const std::size_t slot = block % slots_;
    if (config_.device == nullptr || !config_.device->records()) return {blocks_[slot], 0};
    return {blocks_[0], slot * config_.kv_heads * block_bytes_};
  }
  void take(const Block& block, std::size_t in_block, Row& row) const;
  void put(Block& block, std::size_t in_block, const Row& row) const;
  void load(std::size_t kv_head, std::size_t index, Block& block) const;
  void store(std::size_t kv_head, const Block& block);
  void clear_rows(std::size_t block, std::size_t begin, std::size_t end);  // of all heads
  void zero_rows(std::byte* block, std::size_t begin, std::size_t end) const;

  Config config_;
  std::size_t slots_ = 0, item_bytes_ = 0, block_bytes_ = 0;
  std::size_t held_from_ = 0, written_ = 0;  // after the last position that holds anything
  // [slot], of all heads, as many as were reached; on a device one piece for all of them, which grows
  mutable std::vector<Memory> blocks_;
  std::vector<PiecePool::Piece> pieces_;  // [slot], of a cache in a pool
};

// A row of int8: its scale, NaN for one with a number that is not finite; elements of it as codes. And as bfloat16.
float cached_scale(const float* x, std::size_t n);
void encode_cached(const float* x, std::size_t n, float scale, std::int8_t* codes);
void encode_cached(const float* x, std::size_t n, float scale, std::uint16_t* codes);

template <class Archive>
Result<void> KvCache::visit(Archive& archive, std::size_t n) {
  std::uint64_t first = continues_at(n) ? held_from_ : n;
  archive.number(first, n);
  if constexpr (Archive::kReads) {
    rewind(0);
    if (!archive.ok()) return {};
    LOOM_TRY_VOID(reach(ceil_div(n, kCacheBlock)));
    held_from_ = std::max<std::size_t>(first, first_held(n)), written_ = n;
  }
  Block block;
  Row row;
  row.key.resize(config_.head_dim * item_bytes_), row.value.resize(row.key.size());
  for (std::size_t head = 0; head < config_.kv_heads; ++head) {
    block.index = ~std::size_t{0};
    for (std::size_t p = first; p < n && archive.ok(); ++p) {
      const bool held = p >= held_from_;
      if (held && block.index != p / kCacheBlock) {
        if (Archive::kReads && block.index != ~std::size_t{0}) store(head, block);
        load(head, p / kCacheBlock, block);
      }
      if constexpr (!Archive::kReads) take(block, p % kCacheBlock, row);
      archive.items(row.key, item_bytes_), archive.items(row.value, item_bytes_);
      if (config_.dtype == DType::int8) archive.items(std::as_writable_bytes(std::span(row.scales)), sizeof(float));
      if (Archive::kReads && held) put(block, p % kCacheBlock, row);
    }
    if (Archive::kReads && block.index != ~std::size_t{0}) store(head, block);
  }
  return {};
}

}  // namespace loom
