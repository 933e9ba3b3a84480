#include "ops/attention/attention.h"

#include <deque>

#include "ops/gpu_test.h"

namespace loom {
namespace {

using op_test::expect_equal;
using op_test::Inputs;
using op_test::values;
using op_test::Values;

// Prompts in chunks, then few queries that see many positions, which workgroups share: all of them, windows that begin
// within a block and a chain, heads that share keys, a softcap.
TEST(Gpu, L_74_attention_over_a_cache_has_the_bits_of_the_cpu) {
  LOOM_NEEDS_GPU_DEVICE(device);
  constexpr std::size_t kPositions = 1111;
  constexpr std::size_t kChunks[] = {128, 128, 256, 1, 250, 3, 300, 5, 1, 1, 38};
  struct Case {
    std::size_t heads, kv_heads, dim, window;
    double softcap;
  };
  for (const Case& c : {Case{3, 3, 64, 0, 0}, Case{4, 2, 24, 600, 20}, Case{2, 1, 80, 530, 0}, Case{6, 2, 16, 70, 0}}) {
    SCOPED_TRACE(fmt::format("{} heads of {}, window {}", c.heads, c.dim, c.window));
    const AttentionConfig config{
        .heads = c.heads, .kv_heads = c.kv_heads, .head_dim = c.dim, .window = c.window, .softcap = c.softcap};
    const std::size_t q = c.heads * c.dim, k = c.kv_heads * c.dim;
    const Values inputs[] = {{kPositions, q, values<float>(kPositions * q, 1, 2)},
                             {kPositions, k, values<float>(kPositions * k, 2, 2)},
                             {kPositions, k, values<float>(kPositions * k, 3)}};
    std::deque<KvCache> caches;  // until what they hold has been read
    expect_equal(*device, inputs, kPositions, q, [&](const Exec& exec, Inputs in, Tensor y) {
      caches.push_back(KvCache::create({.kv_heads = c.kv_heads,
                                        .head_dim = c.dim,
                                        .max_positions = kPositions,
                                        .window = c.window,
                                        .max_chunk = 300,
                                        .device = exec.gpu()})
                           .value());
      std::size_t position = 0;
      for (const std::size_t count : kChunks) {
        ASSERT_TRUE(exec.rehearsal() || caches.back().extend(position, count));
        const SequenceRows rows{.first = position, .count = count, .position = position};
        attention(exec, config, in[0], in[1], in[2], {&rows, 1}, {&caches.back(), 1}, y);
        position += count;
      }
      ASSERT_EQ(position, kPositions);
    });
  }
}

}  // namespace
}  // namespace loom
