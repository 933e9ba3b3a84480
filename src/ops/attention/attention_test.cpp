#include "ops/attention/attention.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "core/fp_environment.h"
#include "core/philox.h"
#include "ops/all.h"
#include "ops/attention/sequence_attention.h"
#include "ops/op_test.h"

namespace loom {
namespace {

// A NaN of a rewound position stays in the block of later positions, where it would be multiplied by p = 0.
TEST(KvCache, forgets_what_a_rewind_left) {  // L-74
  const FpEnvironment environment;
  constexpr std::size_t kDim = 8, kKept = 70, kWritten = 140;
  const AttentionKernels& kernels = kernels_for(usable_isas().back()).value()->attention;
  const RandomStream random{.seed = 5};
  const auto at = [&](std::size_t p, std::size_t d) { return random.uniform(p * kDim + d) - 0.5f; };
  const auto run = [&](bool spoil) {
    KvCache cache =
        KvCache::create({.kv_heads = 1, .head_dim = kDim, .max_positions = 256, .window = 0, .max_chunk = 1}).value();
    std::vector<float> row(kDim);
    const std::vector<float> nan(kDim, std::numeric_limits<float>::quiet_NaN());
    for (std::size_t p = 0; p < kKept; ++p) {
      for (std::size_t d = 0; d < kDim; ++d) row[d] = at(p, d);
      EXPECT_TRUE(cache.extend(p, 1));
      kernels.append(cache, 0, p, row.data(), row.data());
    }
    if (spoil) {
      for (std::size_t p = kKept; p < kWritten; ++p) {
        EXPECT_TRUE(cache.extend(p, 1));
        kernels.append(cache, 0, p, nan.data(), nan.data());
      }
      cache.rewind(kKept);
    }
    const auto pool = ThreadPool::create(1).value();
    Arena arena = Arena::create(std::size_t{1} << 20).value();
    const Exec exec{*pool, *kernels_for(usable_isas().back()).value(), arena};
    for (std::size_t d = 0; d < kDim; ++d) row[d] = at(kKept, d);
    std::vector<float> out(kDim);
    const SequenceRows rows{.count = 1, .position = kKept};
    const ConstTensor x{row.data(), 1, kDim};
    attention(exec, {1, 1, kDim, 0, 0.35f}, x, x, x, {&rows, 1}, {&cache, 1}, {out.data(), 1, kDim});
    return out;
  };
  const std::vector<float> clean = run(false);
  for (const float v : clean) EXPECT_TRUE(std::isfinite(v));
  EXPECT_EQ(run(true), clean);
}

// Positions [position, position + count) of a cache with a sliding window, keys and values of `value` and a bit more by
// position; what attention over them gives.
struct Sliding {
  const Exec& exec;
  std::size_t dim, window;
  KvCache& cache;

  std::vector<float> run(std::size_t position, std::size_t count, float value = 1) const {
    std::vector<float> x(count * dim), out(count * dim);
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] = value * (0.5f + static_cast<float>((position * dim + i) * 7 % 31) / 16.0f);
    const SequenceRows rows{.count = count, .position = position};
    const ConstTensor all{x.data(), count, dim};
    exec.arena.clear();
    attention(exec, {1, 1, dim, window}, all, all, all, {&rows, 1}, {&cache, 1}, {out.data(), count, dim});
    return out;
  }
};

// A ring reuses blocks: a NaN that was stored in other rows than those of the new positions reaches no sum, also after
// a rewind.
TEST(KvCache, a_ring_forgets_what_its_blocks_held) {  // L-74
  const FpEnvironment environment;
  constexpr std::size_t kDim = 16, kWindow = 64, kChunk = 16, kEnd = 640;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const DType dtype : {DType::float32, DType::bfloat16, DType::int8})
    for (const Isa isa : usable_isas())
      for (const std::size_t bad : {0, 16, 48, 112, 176}) {
        const auto pool = ThreadPool::create(1).value();
        Arena arena = Arena::create(std::size_t{1} << 20).value();
        const Exec exec{*pool, *kernels_for(isa).value(), arena};
        const KvCache::Config config{1, kDim, 4096, kWindow, kChunk, dtype};
        KvCache spoilt = KvCache::create(config).value(), clean = KvCache::create(config).value();
        const Sliding a{exec, kDim, kWindow, spoilt}, b{exec, kDim, kWindow, clean};
        const auto where = [&](std::size_t p) {
          return fmt::format("{} on {}: NaN at {}, position {}", name(dtype), name(isa), bad, p);
        };
        for (std::size_t p = 0; p < kEnd; p += kChunk) {
          const std::vector<float> y = a.run(p, kChunk, p == bad ? nan : 1.0f), expected = b.run(p, kChunk);
          // Two blocks on, no block that a row reads holds the NaN.
          if (p < bad || p >= bad + 2 * kCacheBlock + kChunk) {
            ASSERT_EQ(y, expected) << where(p);
          }
        }
        // Back by a few positions, over a border of blocks, and on; then from the start.
        for (const std::size_t back : {std::size_t{8}, std::size_t{40}}) {
          a.run(kEnd, kChunk, nan), b.run(kEnd, kChunk);
          spoilt.rewind(kEnd - back), clean.rewind(kEnd - back);
          for (std::size_t p = kEnd - back; p < kEnd; p += 8) ASSERT_EQ(a.run(p, 8), b.run(p, 8)) << where(p);
        }
        a.run(kEnd, kChunk, nan);
        spoilt.rewind(0), clean.rewind(0);
        for (std::size_t p = 0; p < 256; p += kChunk) ASSERT_EQ(a.run(p, kChunk), b.run(p, kChunk)) << where(p);
      }
}

// Encodes a row of one head as a cache of this type does and decodes it again, in plain loops.
std::vector<float> kept(DType dtype, std::span<const float> row) {
  std::vector<float> out(row.begin(), row.end());
  if (dtype == DType::bfloat16)
    for (float& v : out) {
      auto bits = std::bit_cast<std::uint32_t>(v);
      const std::uint32_t rest = bits & 0xffffu;
      bits &= ~0xffffu;
      if (rest > 0x8000u || (rest == 0x8000u && (bits & 0x10000u) != 0)) bits += 0x10000u;
      v = std::bit_cast<float>(bits);
    }
  if (dtype == DType::int8) {
    float most = 0;
    for (const float v : out) most = std::max(most, std::abs(v));
    const float scale = most / 127;
    for (float& v : out) v = scale == 0 ? 0 : static_cast<float>(std::nearbyint(v / scale)) * scale;
  }
  return out;
}

struct CacheCase {
  std::size_t heads, kv_heads, dim, window;
  double softcap;
};

// The cached form, whatever its chunks, is attention over whole sequences with the numbers that the cache keeps.
TEST(KvCache, every_type_is_attention_over_what_it_keeps) {  // L-70, L-74
  const FpEnvironment environment;
  constexpr std::size_t kSteps = 150;
  const RandomStream random{.seed = 9};
  for (const CacheCase& c : {CacheCase{4, 2, 16, 0, 0}, CacheCase{3, 1, 80, 0, 5}, CacheCase{2, 2, 7, 40, 0}}) {
    const std::size_t wide = c.heads * c.dim, narrow = c.kv_heads * c.dim;
    std::vector<float> q(kSteps * wide), k(kSteps * narrow), v(k.size());
    for (std::size_t i = 0; i < q.size(); ++i) q[i] = random.uniform(i) * 2 - 1;
    for (std::size_t i = 0; i < k.size(); ++i)
      k[i] = random.uniform(10000 + i) * 4 - 2, v[i] = i / c.dim % 11 == 3 ? 0 : random.uniform(50000 + i) - 0.5f;
    const AttentionConfig config{c.heads, c.kv_heads, c.dim, c.window, 0, c.softcap};
    for (const DType dtype : {DType::float32, DType::bfloat16, DType::int8}) {
      std::vector<float> kept_k, kept_v;
      for (std::size_t r = 0; r < k.size(); r += c.dim) {
        std::ranges::copy(kept(dtype, std::span(k).subspan(r, c.dim)), std::back_inserter(kept_k));
        std::ranges::copy(kept(dtype, std::span(v).subspan(r, c.dim)), std::back_inserter(kept_v));
      }
      for (const Isa isa : usable_isas())
        for (const int threads : {1, 3}) {
          const auto pool = ThreadPool::create(threads).value();
          Arena arena = Arena::create(std::size_t{1} << 24).value();
          const Exec exec{*pool, *kernels_for(isa).value(), arena};
          std::vector<float> whole(q.size());
          const ConstTensor all_k{kept_k.data(), kSteps, narrow}, all_v{kept_v.data(), kSteps, narrow};
          sequence_attention(exec, config, 1, {{q.data(), kSteps, wide}, all_k, all_v}, {whole.data(), kSteps, wide});
          for (const std::size_t chunk : {std::size_t{1}, std::size_t{7}, kSteps}) {
            KvCache cache = KvCache::create({c.kv_heads, c.dim, kSteps, c.window, chunk, dtype}).value();
            std::vector<float> out(q.size());
            for (std::size_t begin = 0; begin < kSteps; begin += chunk) {
              arena.clear();
              const SequenceRows rows{.count = std::min(chunk, kSteps - begin), .position = begin};
              attention(exec, config, {q.data() + begin * wide, rows.count, wide},
                        {k.data() + begin * narrow, rows.count, narrow},
                        {v.data() + begin * narrow, rows.count, narrow}, {&rows, 1}, {&cache, 1},
                        {out.data() + begin * wide, rows.count, wide});
            }
            EXPECT_EQ(out, whole) << name(dtype) << " head_dim " << c.dim << " chunks of " << chunk << " on "
                                  << name(isa) << ", " << threads << " threads";
          }
        }
    }
  }
}

TEST(KvCache, a_row_that_is_not_finite_stays_so_in_every_type) {  // L-74
  const FpEnvironment environment;
  const AttentionKernels& kernels = kernels_for(usable_isas().back()).value()->attention;
  for (const DType dtype : {DType::float32, DType::bfloat16, DType::int8})
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
      KvCache cache = KvCache::create({1, 4, 64, 0, 1, dtype}).value();
      const std::vector<float> row = {1, bad, 2, 3};
      ASSERT_TRUE(cache.extend(0, 1));
      kernels.append(cache, 0, 0, row.data(), row.data());
      const auto pool = ThreadPool::create(1).value();
      Arena arena = Arena::create(std::size_t{1} << 20).value();
      const Exec exec{*pool, *kernels_for(usable_isas().back()).value(), arena};
      const std::vector<float> one(4, 1.0f);
      std::vector<float> out(4);
      const SequenceRows rows{.count = 1, .position = 1};
      const ConstTensor x{one.data(), 1, 4};
      attention(exec, {1, 1, 4}, x, x, x, {&rows, 1}, {&cache, 1}, {out.data(), 1, 4});
      EXPECT_FALSE(std::ranges::all_of(out, [](float v) { return std::isfinite(v); })) << name(dtype) << " " << bad;
    }
}

// A device that counts what it gives out and has no more than `most` pieces.
class CountingDevice final : public Device {
 public:
  explicit CountingDevice(int most_pieces) : most(most_pieces) {}
  Result<std::byte*> allocate(std::size_t bytes) override {
    if (pieces == most) return fail(Code::OutOfMemory, "{} pieces are all there are", most);
    ++pieces;
    return new std::byte[bytes]();
  }
  void free(std::byte* memory, std::size_t /*bytes*/) override { delete[] memory, --pieces; }
  void read(const std::byte* from, std::span<std::byte> to) override { std::copy_n(from, to.size(), to.data()); }
  void write(std::byte* to, std::span<const std::byte> from) override { std::ranges::copy(from, to); }
  void copy(const std::byte* from, std::size_t bytes, std::byte* to) override { std::copy_n(from, bytes, to); }
  void clear(std::byte* memory, std::size_t bytes) override { std::fill_n(memory, bytes, std::byte{}); }

  int pieces = 0, most;
};

TEST(KvCache, memory_is_taken_by_the_block_and_no_more_than_once) {  // L-74
  CountingDevice device(1000);
  KvCache::Config config{.kv_heads = 3, .head_dim = 8, .max_positions = 1 << 24, .max_chunk = 128, .device = &device};
  {
    KvCache cache = KvCache::create(config).value();
    EXPECT_EQ(device.pieces, 0);
    for (std::size_t p = 0; p < 200; ++p) {
      ASSERT_TRUE(cache.extend(p, 1));
      ASSERT_EQ(device.pieces, static_cast<int>(p / kCacheBlock) + 1) << "position " << p;
    }
    cache.rewind(10);
    ASSERT_TRUE(cache.extend(10, 128));
    EXPECT_EQ(device.pieces, 4);
    ASSERT_TRUE(cache.extend(138, 128));
    EXPECT_EQ(device.pieces, 5);
  }
  EXPECT_EQ(device.pieces, 0);
  config.window = 100, config.max_chunk = 16;
  KvCache ring = KvCache::create(config).value();
  for (std::size_t p = 0; p < 6400; p += 16) ASSERT_TRUE(ring.extend(p, 16));
  EXPECT_EQ(device.pieces, 3);  // 100 positions, a chunk and one block
}

TEST(KvCache, where_memory_ends_the_cache_is_as_it_was) {  // L-74
  CountingDevice device(2);
  KvCache cache =
      KvCache::create({.kv_heads = 1, .head_dim = 8, .max_positions = 4096, .max_chunk = 128, .device = &device})
          .value();
  ASSERT_TRUE(cache.extend(0, 100));
  EXPECT_EQ(cache.extend(100, 29).error().code, Code::OutOfMemory);
  EXPECT_TRUE(cache.continues_at(100));
  EXPECT_FALSE(cache.continues_at(101));
  ASSERT_TRUE(cache.extend(100, 28));
  device.most = 3;
  ASSERT_TRUE(cache.extend(128, 64));
  EXPECT_TRUE(cache.continues_at(192));
}

TEST(KvCache, other_types_are_refused) {  // L-74
  EXPECT_EQ(KvCache::create({1, 4, 64, 0, 1, DType::float16}).error().code, Code::InvalidArgument);
  EXPECT_EQ(KvCache::create({1, 4, 64, 0, 1, DType::int4}).error().code, Code::InvalidArgument);
}

// A cache gives its pieces back, and the next one finds zeros in them: as often as a saved sequence is restored.
TEST(KvCache, pieces_go_back_to_their_pool) {  // L-74
  PiecePool pool;
  KvCache::Config config{.kv_heads = 3, .head_dim = 64, .max_positions = 1024, .max_chunk = 128};
  config.pool = &pool;
  std::set<std::byte*> places;
  KvCache kept = KvCache::create(config).value();
  for (int i = 0; i < 100; ++i) {
    KvCache cache = KvCache::create(config).value();
    ASSERT_TRUE(cache.extend(0, 128));
    EXPECT_EQ(*cache.keys(2, 1), std::byte{0});
    places.insert({cache.keys(0, 0), cache.keys(0, 1)});
    *cache.keys(2, 1) = std::byte{7};
    kept = std::move(cache);
  }
  EXPECT_LE(places.size(), 6u);
}

// Values that are not finite reach the rows that see them and no other, whatever shares a tile or a block with them:
// after a row, and before its window.
TEST(Attention, values_that_are_not_seen_do_not_count) {  // L-74
  constexpr std::size_t kDim = 20, kSteps = 150, kHeads = 2;
  for (const std::size_t window : {0, 40})
    for (const std::size_t spoilt : {0, 17, 63, 64, 100, 149}) {
      const AttentionConfig config{kHeads, 1, kDim, window};
      const std::vector<float> q = op_test::values<float>(kSteps * kHeads * kDim, 1),
                               k = op_test::values<float>(kSteps * kDim, 2);
      std::vector<float> v = op_test::values<float>(kSteps * kDim, 3);
      const std::vector<float> clean = v;
      v[spoilt * kDim + 3] = std::numeric_limits<float>::infinity();
      const auto run = [&](const Exec& exec, const std::vector<float>& of, std::size_t chunk) {
        std::vector<KvCache> caches;
        caches.push_back(KvCache::create({1, kDim, kSteps, window, chunk}).value());
        std::vector<float> out(q.size());
        for (std::size_t first = 0; first < kSteps; first += chunk) {
          const std::size_t rows = std::min(chunk, kSteps - first);
          const SequenceRows sequence{0, rows, first, 0};
          const auto part = [&](const std::vector<float>& all, std::size_t cols) {
            return ConstTensor{all.data() + first * cols, rows, cols};
          };
          attention(exec, config, part(q, kHeads * kDim), part(k, kDim), part(of, kDim), {&sequence, 1}, caches,
                    {out.data() + first * kHeads * kDim, rows, kHeads * kDim});
        }
        return out;
      };
      for (const std::size_t chunk : {1, 16, 150}) {
        SCOPED_TRACE(fmt::format("window {}, {} spoilt, chunk {}", window, spoilt, chunk));
        const std::vector<float> spoilt_out =
            op_test::everywhere(false, [&](const Exec& e) { return run(e, v, chunk); });
        const std::vector<float> clean_out =
            op_test::everywhere(false, [&](const Exec& e) { return run(e, clean, chunk); });
        for (std::size_t i = 0; i < spoilt_out.size(); ++i) {
          const std::size_t row = i / (kHeads * kDim);
          const bool sees = spoilt <= row && (window == 0 || spoilt + window > row) && i % kDim == 3;
          if (sees)
            EXPECT_FALSE(std::isfinite(spoilt_out[i])) << row;
          else
            EXPECT_EQ(spoilt_out[i], clean_out[i]) << row << " element " << i % kDim;
        }
      }
    }
}

// The first pieces are alone, the next ones share pages, a large one has pages of its own.
TEST(KvCache, pieces_of_a_pool_are_zeros_and_apart) {  // L-74
  PiecePool pool;
  std::vector<std::span<std::byte>> pieces;
  for (const std::size_t bytes : {100, 98304, 98304, 98304, 1 << 20, 98304, 98304, 3 << 20, 98304, 1 << 20, 64}) {
    std::byte* const piece = pool.take(bytes).value().data;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(piece) % 64, 0u);
    pieces.emplace_back(piece, bytes);
    EXPECT_TRUE(std::ranges::all_of(pieces.back(), [](std::byte b) { return b == std::byte{0}; }));
    std::ranges::fill(pieces.back(), static_cast<std::byte>(pieces.size()));
  }
  for (std::size_t i = 0; i < pieces.size(); ++i)
    EXPECT_TRUE(std::ranges::all_of(pieces[i], [&](std::byte b) { return b == static_cast<std::byte>(i + 1); })) << i;
}

}  // namespace
}  // namespace loom
