#include "ops/attention/kv_cache.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/checked.h"
#include "core/system.h"
#include "dtypes/float16.h"

namespace loom {

bool KvCache::holds(DType dtype) { return dtype == DType::float32 || dtype == DType::bfloat16 || dtype == DType::int8; }

Result<KvCache> KvCache::create(const Config& config) {
  if (!holds(config.dtype))
    return fail(Code::InvalidArgument, "keys and values are kept as float32, bfloat16 or int8, not as {}",
                name(config.dtype));
  KvCache c;
  c.config_ = config;
  std::size_t positions = config.max_positions;
  if (config.window != 0 && config.window + config.max_chunk < positions)
    positions = config.window + config.max_chunk + kCacheBlock;
  c.slots_ = ceil_div(positions, kCacheBlock);
  c.item_bytes_ = config.dtype == DType::float32 ? 4 : config.dtype == DType::bfloat16 ? 2 : 1;
  const std::size_t scales = config.dtype == DType::int8 ? 2 * sizeof(float) : 0;
  c.block_bytes_ = kCacheBlock * ((config.head_dim + c.padded_dim()) * c.item_bytes_ + scales);
  LOOM_TRY_VOID(checked_product({config.kv_heads, c.slots_, c.block_bytes_}));
  c.blocks_.reserve(c.slots_);  // so that a block is all that a pass takes
  if (c.is_pooled()) c.pieces_.reserve(c.slots_);
  return c;
}

Result<PiecePool::Piece> PiecePool::take(std::size_t bytes) {
  constexpr std::size_t kSmall = 1 << 20, kAtLeast = 4;  // pieces of a buffer, unless they fill pages of their own
  const auto returned = std::find_if(free_.rbegin(), free_.rend(), [&](const Piece& p) { return p.bytes == bytes; });
  if (returned != free_.rend()) {
    const Piece piece = *returned;
    *returned = free_.back();
    free_.pop_back();
    std::fill_n(piece.data, bytes, std::byte{});
    owners_[piece.number] = 1, used_bytes_ += bytes;
    return piece;
  }
  const std::size_t needed = round_up(bytes, Buffer::kAlignment);
  if (buffers_.empty() || needed > buffers_.back().size() - used_) {
    const bool alone = taken_ + needed <= kSmall || needed >= os::kHugePage;
    const std::size_t size = alone ? needed : round_up(std::max(kAtLeast * needed, os::kHugePage), os::kHugePage);
    LOOM_TRY(Buffer buffer, Buffer::create(size));
    buffers_.push_back(std::move(buffer));
    used_ = 0;
  }
  const Piece piece{buffers_.back().data() + used_, bytes, static_cast<std::uint32_t>(owners_.size())};
  owners_.push_back(1);
  if (owners_.size() > free_.capacity()) free_.reserve(2 * owners_.size());
  used_ += needed, taken_ += needed, used_bytes_ += bytes;
  return piece;
}

void PiecePool::give_back(const Piece& piece) {
  if (--owners_[piece.number] != 0) return;
  used_bytes_ -= piece.bytes;
  free_.push_back(piece);
}

KvCache& KvCache::operator=(KvCache&& other) noexcept {
  std::swap(config_, other.config_);
  std::swap(slots_, other.slots_), std::swap(item_bytes_, other.item_bytes_);
  std::swap(block_bytes_, other.block_bytes_);
  std::swap(held_from_, other.held_from_), std::swap(written_, other.written_);
  std::swap(blocks_, other.blocks_), std::swap(pieces_, other.pieces_);
  return *this;
}

KvCache::~KvCache() {
  for (const PiecePool::Piece& piece : pieces_) config_.pool->give_back(piece);
}

void KvCache::own(const PiecePool::Piece& piece) {
  blocks_.push_back(Memory::borrowed(piece.data, piece.bytes));
  pieces_.push_back(piece);
}

Result<void> KvCache::reach(std::size_t end) {
  if (config_.device != nullptr && config_.device->records()) return grow_on_device(std::min(end, slots_));
  const std::size_t bytes = config_.kv_heads * block_bytes_;
  while (blocks_.size() < std::min(end, slots_)) {
    if (is_pooled()) {
      LOOM_TRY(const PiecePool::Piece piece, config_.pool->take(bytes));
      own(piece);
    } else {
      LOOM_TRY(Memory block, Memory::create(config_.device, bytes));
      blocks_.push_back(std::move(block));
    }
  }
  return {};
}

// Kernels see one buffer, so that a cache that grows moves to a larger one: twice as large, from 512 positions on.
Result<void> KvCache::grow_on_device(std::size_t slots) {
  constexpr std::size_t kFirstSlots = 8;
  const std::size_t bytes = config_.kv_heads * block_bytes_;
  const std::size_t held = blocks_.empty() ? 0 : blocks_[0].size() / bytes;
  if (slots <= held) return {};
  const std::size_t wanted = std::min(slots_, std::max({slots, 2 * held, kFirstSlots}));
  auto made = Memory::create(config_.device, wanted * bytes);
  if (!made) return at(fmt::format("keys and values of {} positions", wanted * kCacheBlock), std::move(made).error());
  Memory larger = *std::move(made);
  if (held == 0) {
    blocks_.push_back(std::move(larger));
    return {};
  }
  larger.copy(0, blocks_[0], 0, held * bytes);
  blocks_[0] = std::move(larger);
  return {};
}

Result<void> KvCache::extend(std::size_t position, std::size_t count) {
  // A ring writes new blocks over old ones, whose rows would follow the new positions: it sets them to zero, like those
  // of an unused block.
  const std::size_t end = ceil_div(position + count, kCacheBlock);
  LOOM_TRY_VOID(reach(end));
  for (std::size_t block = position / kCacheBlock; block < end; ++block) LOOM_TRY_VOID(unshare(block));
  const std::size_t first_reused = std::max(slots_, end > slots_ ? end - slots_ : 0);
  for (std::size_t block = std::max(first_reused, ceil_div(written_, kCacheBlock)); block < end; ++block)
    clear_rows(block, 0, kCacheBlock);
  written_ = std::max(written_, position + count);
  held_from_ = std::max(held_from_, first_held(position + count));
  return {};
}

std::size_t KvCache::first_held(std::size_t next) const {
  const std::size_t blocks = ceil_div(next, kCacheBlock);
  return blocks <= slots_ ? 0 : (blocks - slots_) * kCacheBlock;
}

bool KvCache::continues_at(std::size_t n) const {
  const std::size_t first_seen = config_.window != 0 && n > config_.window ? n - config_.window : 0;
  return n == 0 || (n <= written_ && held_from_ <= first_seen);
}

// A cache that cannot copy a shared block is empty, and its sequence is read again.
void KvCache::rewind(std::size_t n) {
  const std::size_t whole = ceil_div(n, kCacheBlock);
  if (held_from_ == 0 && whole < pieces_.size() && is_shared(whole)) give_back_from(whole);
  for (std::size_t p = std::max(n, first_held(written_)); p < written_;) {
    if (!unshare(p / kCacheBlock)) return clear();
    const std::size_t end = std::min(written_, (p / kCacheBlock + 1) * kCacheBlock);
    clear_rows(p / kCacheBlock, p % kCacheBlock, p % kCacheBlock + (end - p));
    p = end;
  }
  written_ = std::min(written_, n);
  if (n == 0) held_from_ = 0;
}

void KvCache::clear(std::size_t n) {
  if (n == 0 && config_.device != nullptr && config_.device->records()) {
    blocks_.clear();
    written_ = held_from_ = 0;
    return;
  }
  if (is_pooled() && (n == 0 || held_from_ == 0)) give_back_from(ceil_div(n, kCacheBlock));
  rewind(n);
}

// Needs a cache that has lost no positions, or all of its blocks.
void KvCache::give_back_from(std::size_t block) {
  while (pieces_.size() > block) {
    config_.pool->give_back(pieces_.back());
    pieces_.pop_back(), blocks_.pop_back();
  }
  written_ = std::min(written_, block * kCacheBlock);
}

bool KvCache::can_share(const KvCache& from, std::size_t n) const {
  const bool are_on_card = config_.device != nullptr && config_.device->records();
  return this != &from && config_.device == from.config_.device && (are_on_card || is_pooled()) &&
         config_.pool == from.config_.pool && slots_ == from.slots_ && from.held_from_ == 0 && n <= from.written_;
}

// The last block of the other cache may have rows after n, which have to be zeros: it is copied. Kernels see one buffer
// for each cache, so a card copies all blocks.
Result<void> KvCache::share(const KvCache& from, std::size_t n) {
  LOOM_ASSERT(can_share(from, n));
  clear();
  const std::size_t whole = n / kCacheBlock, rest = n % kCacheBlock;
  if (!is_pooled()) {
    const std::size_t blocks = ceil_div(n, kCacheBlock);
    LOOM_TRY_VOID(reach(blocks));
    if (n != 0) blocks_[0].copy(0, from.blocks_[0], 0, blocks * config_.kv_heads * block_bytes_);
    if (rest != 0) clear_rows(whole, rest, kCacheBlock);
    written_ = n;
    return {};
  }
  for (std::size_t block = 0; block < whole; ++block) {
    config_.pool->share(from.pieces_[block]);
    own(from.pieces_[block]);
  }
  if (rest != 0) {
    if (auto reached = reach(whole + 1); !reached) {
      clear();
      return reached;
    }
    std::memcpy(pieces_[whole].data, from.pieces_[whole].data, pieces_[whole].bytes);
    clear_rows(whole, rest, kCacheBlock);
  }
  written_ = n;
  return {};
}

bool KvCache::is_shared(std::size_t block) const {
  return is_pooled() && config_.pool->is_shared(pieces_[block % slots_]);
}

Result<void> KvCache::unshare(std::size_t block) {
  if (!is_shared(block)) return {};
  PiecePool::Piece& piece = pieces_[block % slots_];
  LOOM_TRY(const PiecePool::Piece copy, config_.pool->take(piece.bytes));
  std::memcpy(copy.data, piece.data, piece.bytes);
  config_.pool->give_back(piece);
  piece = copy;
  blocks_[block % slots_] = Memory::borrowed(copy.data, copy.bytes);
  return {};
}

void KvCache::clear_rows(std::size_t index, std::size_t begin, std::size_t end) {
  if (config_.device == nullptr) {
    for (std::size_t head = 0; head < config_.kv_heads; ++head) zero_rows(keys(head, index), begin, end);
    return;
  }
  const auto [memory, offset] = place_of(index);
  if (begin == 0 && end == kCacheBlock)  // a pass on a device reads nothing
    return config_.device->clear(memory.data() + offset, config_.kv_heads * block_bytes_);
  // All heads at once: each read waits for the device.
  std::vector<std::byte> heads(config_.kv_heads * block_bytes_);
  memory.read(offset, heads);
  for (std::size_t head = 0; head < config_.kv_heads; ++head) zero_rows(heads.data() + head * block_bytes_, begin, end);
  memory.write(offset, heads);
}

void KvCache::zero_rows(std::byte* block, std::size_t begin, std::size_t end) const {
  if (begin == 0 && end == kCacheBlock) return void(std::fill_n(block, block_bytes_, std::byte{}));
  const std::size_t dim = config_.head_dim, item = item_bytes_;
  std::byte* const values = block + kCacheBlock * dim * item;
  std::byte* const scales = values + kCacheBlock * padded_dim() * item;
  for (std::size_t i = begin; i < end; ++i) {
    for (std::size_t d = 0; d < dim; ++d) {
      std::fill_n(block + ((i / 16 * dim + d) * 16 + i % 16) * item, item, std::byte{});
      std::fill_n(values + ((d / 16 * kCacheBlock + i) * 16 + d % 16) * item, item, std::byte{});
    }
    if (config_.dtype != DType::int8) continue;
    for (std::size_t s = 0; s < 2; ++s)
      std::fill_n(scales + (s * kCacheBlock + i) * sizeof(float), sizeof(float), std::byte{});
  }
}

void KvCache::load(std::size_t kv_head, std::size_t index, Block& block) const {
  block.index = index;
  block.bytes.resize(block_bytes_);
  const auto [memory, offset] = place_of(index);
  memory.read(offset + kv_head * block_bytes_, block.bytes);
}

void KvCache::store(std::size_t kv_head, const Block& block) {
  const auto [memory, offset] = place_of(block.index);
  memory.write(offset + kv_head * block_bytes_, block.bytes);
}

void KvCache::take(const Block& block, std::size_t i, Row& row) const {
  const std::size_t dim = config_.head_dim, item = item_bytes_;
  const std::byte* const k = block.bytes.data() + (i / 16 * dim * 16 + i % 16) * item;
  const std::byte* const v = block.bytes.data() + (kCacheBlock * dim + i * 16) * item;
  for (std::size_t d = 0; d < dim; ++d) {
    std::memcpy(row.key.data() + d * item, k + d * 16 * item, item);
    std::memcpy(row.value.data() + d * item, v + (d / 16 * kCacheBlock * 16 + d % 16) * item, item);
  }
  if (config_.dtype != DType::int8) return;
  const std::byte* const scales = block.bytes.data() + kCacheBlock * (dim + padded_dim()) + i * sizeof(float);
  for (std::size_t s = 0; s < 2; ++s)
    std::memcpy(&row.scales[s], scales + s * kCacheBlock * sizeof(float), sizeof(float));
}

void KvCache::put(Block& block, std::size_t i, const Row& row) const {
  const std::size_t dim = config_.head_dim, item = item_bytes_;
  std::byte* const k = block.bytes.data() + (i / 16 * dim * 16 + i % 16) * item;
  std::byte* const v = block.bytes.data() + (kCacheBlock * dim + i * 16) * item;
  for (std::size_t d = 0; d < dim; ++d) {
    std::memcpy(k + d * 16 * item, row.key.data() + d * item, item);
    std::memcpy(v + (d / 16 * kCacheBlock * 16 + d % 16) * item, row.value.data() + d * item, item);
  }
  if (config_.dtype != DType::int8) return;
  std::byte* const scales = block.bytes.data() + kCacheBlock * (dim + padded_dim()) + i * sizeof(float);
  for (std::size_t s = 0; s < 2; ++s)
    std::memcpy(scales + s * kCacheBlock * sizeof(float), &row.scales[s], sizeof(float));
}

float cached_scale(const float* x, std::size_t n) {
  float most = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (!std::isfinite(x[i])) return std::numeric_limits<float>::quiet_NaN();
    most = std::max(most, std::abs(x[i]));
  }
  return snap(most / 127.0f);
}

void encode_cached(const float* x, std::size_t n, float scale, std::int8_t* codes) {
  // A scale that is no number makes one of every code; one of 0 stands for zeros.
  const bool encodes = scale > 0;
  for (std::size_t i = 0; i < n; ++i) {
    constexpr float kShift = 0x1.8p23f;  // sums with it have no digits after the point
    const float rounded = encodes ? (x[i] / scale + kShift) - kShift : 0;
    codes[i] = static_cast<std::int8_t>(std::clamp(rounded, -127.0f, 127.0f));
  }
}

void encode_cached(const float* x, std::size_t n, float /*scale*/, std::uint16_t* codes) {
  for (std::size_t i = 0; i < n; ++i) codes[i] = float_to_bfloat16(x[i]);
}

}  // namespace loom
