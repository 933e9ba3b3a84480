#include "ops/attention/attention.h"

#include <deque>

#include "ops/gpu_test.h"

namespace loom {
namespace {

using op_test::expect_equal;
using op_test::Inputs;
using op_test::values;
using op_test::Values;

// Keys and values of a cache as a snapshot has them.
struct Archive {
  static constexpr bool kReads = false;
  std::vector<std::byte> bytes;
  static bool ok() { return true; }
  static void number(std::uint64_t& /*n*/, std::uint64_t /*most*/) {}
  void items(std::span<std::byte> items, std::size_t /*item_bytes*/) {
    bytes.insert(bytes.end(), items.begin(), items.end());
  }
};
std::vector<std::byte> bytes_of(KvCache& cache, std::size_t positions) {
  Archive archive;
  EXPECT_TRUE(cache.visit(archive, positions));
  return std::move(archive.bytes);
}

constexpr DType kTypes[] = {DType::float32, DType::bfloat16, DType::int8};

// Prompts in chunks, then few queries that see many positions, which workgroups share: all of them, windows that begin
// within a block and a chain, heads that share keys, a softcap.
TEST(Gpu, attention_in_chunks_has_the_bits_of_the_cpu) {  // L-74
  LOOM_NEEDS_GPU_DEVICE(device);
  constexpr std::size_t kPositions = 1111;
  const std::vector<std::size_t> chunks = {128, 128, 256, 1, 250, 3, 270, 30, 5, 1, 1, 38};
  // The first kernel that it compiles shows a faulty compiler: in this run, that of tiles.
  const std::vector<std::size_t> many_first = {600, 1, 250, 3, 98, 30, 5, 1, 1, 122};
  struct Case {
    std::size_t heads, kv_heads, dim, window;
    double softcap;
  };
  for (const Case& c : {Case{3, 3, 64, 0, 0}, Case{4, 2, 24, 600, 20}, Case{2, 1, 80, 530, 0}, Case{6, 2, 16, 70, 0},
                        Case{2, 2, 10, 0, 0}})
    for (const DType dtype : kTypes) {
      SCOPED_TRACE(fmt::format("{} heads of {}, window {}, {}", c.heads, c.dim, c.window, name(dtype)));
      const AttentionConfig config{
          .heads = c.heads, .kv_heads = c.kv_heads, .head_dim = c.dim, .window = c.window, .softcap = c.softcap};
      const std::size_t q = c.heads * c.dim, k = c.kv_heads * c.dim;
      const Values inputs[] = {{kPositions, q, values<float>(kPositions * q, 1, 2)},
                               {kPositions, k, values<float>(kPositions * k, 2, 2)},
                               {kPositions, k, values<float>(kPositions * k, 3)}};
      std::deque<KvCache> caches;  // until what they hold has been read
      KvCache *here = nullptr, *there = nullptr;
      expect_equal(*device, inputs, kPositions, q, [&](const Exec& exec, Inputs in, Tensor y) {
        caches.push_back(KvCache::create({.kv_heads = c.kv_heads,
                                          .head_dim = c.dim,
                                          .max_positions = kPositions,
                                          .window = c.window,
                                          .max_chunk = 600,
                                          .dtype = dtype,
                                          .device = exec.gpu()})
                             .value());
        (exec.gpu() != nullptr ? there : here) = &caches.back();
        std::size_t position = 0;
        for (const std::size_t count : dtype == DType::int8 ? many_first : chunks) {
          ASSERT_TRUE(exec.rehearsal() || caches.back().extend(position, count));
          const SequenceRows rows{.first = position, .count = count, .position = position};
          attention(exec, config, in[0], in[1], in[2], {&rows, 1}, {&caches.back(), 1}, y);
          position += count;
        }
        ASSERT_EQ(position, kPositions);
      });
      EXPECT_TRUE(bytes_of(*here, kPositions) == bytes_of(*there, kPositions)) << "what the caches hold differs";
    }
}

// Rows of three sequences in one pass, and again from where they then stand, so that words of keys are filled by
// several passes. Some rows are zeros, some beyond every scale, some no numbers: of runs of several rows, whose codes a
// kernel of its own makes, and of single rows, whose codes the kernel makes that attends.
TEST(Gpu, not_finite_rows_of_several_sequences_are_cached_with_the_bytes_of_the_cpu) {  // L-74
  LOOM_NEEDS_GPU_DEVICE(device);
  constexpr std::size_t kHeads = 2, kDim = 12, kRows = 66, kPasses = 7;
  constexpr std::size_t kCounts[kPasses][3] = {{1, 2, 3}, {3, 1, 1}, {2, 7, 9},  {1, 1, 1},
                                               {1, 1, 1}, {1, 1, 1}, {13, 14, 1}};
  const AttentionConfig config{.heads = kHeads, .kv_heads = kHeads, .head_dim = kDim};
  const auto odd = [](std::vector<float> x) {
    for (const auto& rows : {std::array{2, 5, 11, 14, 17, 18, 19, 20}, std::array{29, 30, 31, 32, 33, 34, 35, 36}}) {
      const auto row = [&](std::size_t i) { return x.data() + static_cast<std::size_t>(rows[i]) * kHeads * kDim; };
      for (std::size_t d = 0; d < kDim; ++d) {
        row(0)[d] = 0;                             // a head of zeros
        row(1)[d] *= 0x1p-45f;                     // whose scale is snapped away
        row(2)[d] *= 0x1p126f;                     // beyond bfloat16
        row(3)[d] = static_cast<float>(d) - 5.5f;  // ties
      }
      row(3)[0] = 127;
      row(4)[3] = __builtin_inff();
      row(5)[4] = -__builtin_inff();
      row(6)[15] = std::bit_cast<float>(0xffc12345u);
      row(7)[5] = std::bit_cast<float>(0x3f808000u);  // a tie of bfloat16
      row(7)[6] = std::bit_cast<float>(0x3f818000u);
      row(7)[7] = std::bit_cast<float>(0x7f7fffffu);
    }
    return x;
  };
  const Values inputs[] = {{kRows, kHeads * kDim, values<float>(kRows * kHeads * kDim, 1)},
                           {kRows, kHeads * kDim, odd(values<float>(kRows * kHeads * kDim, 2))},
                           {kRows, kHeads * kDim, odd(values<float>(kRows * kHeads * kDim, 3))}};
  for (const DType dtype : kTypes) {
    SCOPED_TRACE(name(dtype));
    std::deque<std::vector<KvCache>> caches;
    std::vector<KvCache>*here = nullptr, *there = nullptr;
    std::size_t lengths[3] = {};
    expect_equal(*device, inputs, kRows, kHeads * kDim, [&](const Exec& exec, Inputs in, Tensor y) {
      caches.emplace_back();
      for (int s = 0; s < 3; ++s)
        caches.back().push_back(KvCache::create({.kv_heads = kHeads,
                                                 .head_dim = kDim,
                                                 .max_positions = 64,
                                                 .max_chunk = 64,
                                                 .dtype = dtype,
                                                 .device = exec.gpu()})
                                    .value());
      (exec.gpu() != nullptr ? there : here) = &caches.back();
      std::ranges::fill(lengths, 0);
      std::size_t first = 0;
      const auto part = [&](const Tensor& t, std::size_t count) {
        return Tensor{t.row(first), count, t.cols, t.element};
      };
      for (const auto& counts : kCounts) {
        SequenceRows runs[3];
        std::size_t count = 0;
        for (std::size_t s = 0; s < 3; ++s) {
          runs[s] = {.first = count, .count = counts[s], .position = lengths[s], .sequence = s};
          count += counts[s], lengths[s] += counts[s];
        }
        attention(exec, config, part(in[0], count), part(in[1], count), part(in[2], count), runs, caches.back(),
                  part(y, count));
        first += count;
      }
      ASSERT_EQ(first, kRows);
    });
    for (std::size_t s = 0; s < 3; ++s)
      EXPECT_TRUE(bytes_of((*here)[s], lengths[s]) == bytes_of((*there)[s], lengths[s])) << "sequence " << s;
  }
}

// One row of each of nine sequences, and at times several of one of them: what they see is nothing, parts of a block,
// 512 positions and more; as few queries that see many positions as workgroups share, and more.
TEST(Gpu, single_rows_of_sequences_attend_beside_each_other_with_the_bits_of_the_cpu) {  // L-74
  LOOM_NEEDS_GPU_DEVICE(device);
  constexpr std::size_t kBegin[] = {0, 600, 63, 511, 64, 1000, 200, 512, 700};
  constexpr std::size_t kSequences = std::size(kBegin), kMost = 1024, kPasses = 3, kRows = kPasses * kSequences + 4;
  struct Case {
    std::size_t heads, kv_heads, dim, window;
    double softcap;
    std::vector<DType> types;
  };
  for (const Case& c : {Case{24, 4, 8, 0, 0, {std::begin(kTypes), std::end(kTypes)}},
                        Case{24, 4, 8, 70, 20, {DType::float32}}, Case{6, 3, 20, 530, 0, {DType::bfloat16}}})
    for (const DType dtype : c.types) {
      SCOPED_TRACE(fmt::format("{} heads, window {}, {}", c.heads, c.window, name(dtype)));
      const AttentionConfig config{
          .heads = c.heads, .kv_heads = c.kv_heads, .head_dim = c.dim, .window = c.window, .softcap = c.softcap};
      const std::size_t q = c.heads * c.dim, k = c.kv_heads * c.dim;
      const Values inputs[] = {{kMost, q, values<float>(kMost * q, 1, 2)},
                               {kMost, k, values<float>(kMost * k, 2, 2)},
                               {kMost, k, values<float>(kMost * k, 3)}};
      std::deque<std::vector<KvCache>> caches;
      std::vector<KvCache>*here = nullptr, *there = nullptr;
      std::size_t lengths[kSequences] = {};
      expect_equal(*device, inputs, kMost + kRows, q, [&](const Exec& exec, Inputs in, Tensor y) {
        caches.emplace_back();
        for (std::size_t s = 0; s < kSequences; ++s)
          caches.back().push_back(KvCache::create({.kv_heads = c.kv_heads,
                                                   .head_dim = c.dim,
                                                   .max_positions = kMost + 64,
                                                   .window = c.window,
                                                   .max_chunk = kMost,
                                                   .dtype = dtype,
                                                   .device = exec.gpu()})
                                      .value());
        (exec.gpu() != nullptr ? there : here) = &caches.back();
        const auto extend = [&](std::span<const SequenceRows> runs) {
          for (const SequenceRows& run : runs) {
            ASSERT_TRUE(exec.rehearsal() || caches.back()[run.sequence].extend(run.position, run.count));
            lengths[run.sequence] = run.position + run.count;
          }
        };
        // Fills the caches by as many heads as there are of keys: queries of prompts take time and have other tests.
        AttentionConfig filling = config;
        filling.heads = c.kv_heads;
        for (std::size_t s = 0; s < kSequences; ++s) {
          const SequenceRows run{.first = 0, .count = kBegin[s], .position = 0, .sequence = s};
          lengths[s] = 0;
          if (run.count == 0) continue;
          extend({&run, 1});
          const auto rows = [&](const Tensor& t) { return Tensor{t.row(0), run.count, k, t.element}; };
          attention(exec, filling, rows(in[1]), rows(in[1]), rows(in[2]), {&run, 1}, caches.back(), rows(y));
        }
        for (std::size_t pass = 0, to = kMost; pass < kPasses; ++pass) {
          std::vector<SequenceRows> runs;
          std::size_t rows = 0;
          for (std::size_t s = 0; s < kSequences; ++s) {
            const std::size_t count = pass == 1 && s == 4 ? 5 : 1;
            runs.push_back({.first = rows, .count = count, .position = lengths[s], .sequence = s});
            rows += count;
          }
          extend(runs);
          const auto part = [&](const Tensor& t, std::size_t row) {
            return Tensor{t.row(row), rows, t.cols, t.element};
          };
          const std::size_t at = 100 * pass;
          attention(exec, config, part(in[0], at), part(in[1], at), part(in[2], at), runs, caches.back(), part(y, to));
          to += rows;
        }
      });
      for (std::size_t s = 0; s < kSequences; ++s)
        EXPECT_TRUE(bytes_of((*here)[s], lengths[s]) == bytes_of((*there)[s], lengths[s])) << "sequence " << s;
    }
  if (!test::compiler_errs()) {  // the host computes the kernels that it spoils
    EXPECT_EQ(test::refused_kernels(*device), "");
  }
}

// A row at a time, from positions in every place of a word and of a block on: heads that fill threads' pairs, more than
// one round of them, and an odd number of elements.
TEST(Gpu, single_rows_have_the_bits_of_the_cpu_with_heads_of_every_size) {  // L-74
  LOOM_NEEDS_GPU_DEVICE(device);
  struct Case {
    std::size_t heads, kv_heads, dim, window, first, count;
  };
  for (const Case& c : {Case{4, 2, 80, 0, 61, 9}, Case{2, 1, 300, 0, 130, 3}, Case{3, 3, 7, 0, 1, 6},
                        Case{2, 2, 128, 45, 70, 6}, Case{1, 1, 64, 0, 507, 5}})
    for (const DType dtype : kTypes) {
      SCOPED_TRACE(fmt::format("{} heads of {}, window {}, {}", c.heads, c.dim, c.window, name(dtype)));
      const AttentionConfig config{.heads = c.heads, .kv_heads = c.kv_heads, .head_dim = c.dim, .window = c.window};
      const std::size_t q = c.heads * c.dim, k = c.kv_heads * c.dim, rows = c.first + c.count;
      const Values inputs[] = {{rows, q, values<float>(rows * q, 1, 2)},
                               {rows, k, values<float>(rows * k, 2, 2)},
                               {rows, k, values<float>(rows * k, 3)}};
      std::deque<KvCache> caches;
      KvCache *here = nullptr, *there = nullptr;
      expect_equal(*device, inputs, rows, q, [&](const Exec& exec, Inputs in, Tensor y) {
        caches.push_back(KvCache::create({.kv_heads = c.kv_heads,
                                          .head_dim = c.dim,
                                          .max_positions = rows,
                                          .window = c.window,
                                          .max_chunk = c.first,
                                          .dtype = dtype,
                                          .device = exec.gpu()})
                             .value());
        (exec.gpu() != nullptr ? there : here) = &caches.back();
        for (std::size_t position = 0; position < rows;) {
          const std::size_t count = position == 0 ? c.first : 1;
          ASSERT_TRUE(exec.rehearsal() || caches.back().extend(position, count));
          const SequenceRows run{.first = position, .count = count, .position = position};
          attention(exec, config, in[0], in[1], in[2], {&run, 1}, {&caches.back(), 1}, y);
          position += count;
        }
      });
      EXPECT_TRUE(bytes_of(*here, rows) == bytes_of(*there, rows)) << "what the caches hold differs";
    }
}

// Four sequences at a time: the kernel that attends puts their keys and values into the cache, as numbers or codes.
TEST(Gpu, single_rows_of_eight_sequences_take_two_dispatches) {
  LOOM_NEEDS_GPU_DEVICE(device);
  constexpr std::size_t kHeads = 2, kDim = 64, kSequences = 8;
  const AttentionConfig config{.heads = kHeads, .kv_heads = kHeads, .head_dim = kDim};
  const std::size_t width = kHeads * kDim;
  const Values inputs[] = {{kSequences, width, values<float>(kSequences * width, 1, 2)},
                           {kSequences, width, values<float>(kSequences * width, 2, 2)},
                           {kSequences, width, values<float>(kSequences * width, 3)}};
  for (const DType dtype : kTypes) {
    SCOPED_TRACE(name(dtype));
    std::uint64_t dispatches = 0;
    for (int i = 0; i < 4; ++i) {  // trials come first, of each alone and of several
      std::deque<std::vector<KvCache>> caches;
      expect_equal(*device, inputs, kSequences, width, [&](const Exec& exec, Inputs in, Tensor y) {
        caches.emplace_back();
        std::vector<SequenceRows> runs;
        for (std::size_t s = 0; s < kSequences; ++s) {
          caches.back().push_back(KvCache::create({.kv_heads = kHeads,
                                                   .head_dim = kDim,
                                                   .max_positions = 64,
                                                   .max_chunk = 64,
                                                   .dtype = dtype,
                                                   .device = exec.gpu()})
                                      .value());
          runs.push_back({.first = s, .count = 1, .position = 0, .sequence = s});
          ASSERT_TRUE(exec.rehearsal() || caches.back().back().extend(0, 1));
        }
        const std::uint64_t before = exec.gpu() == nullptr ? 0 : exec.gpu()->counters().dispatches;
        attention(exec, config, in[0], in[1], in[2], runs, caches.back(), y);
        if (exec.gpu() != nullptr && !exec.rehearsal()) dispatches = exec.gpu()->counters().dispatches - before;
      });
    }
    if (!test::compiler_errs()) {  // the host computes the kernels that it spoils
      EXPECT_EQ(dispatches, 2u);
    }
  }
}

}  // namespace
}  // namespace loom
