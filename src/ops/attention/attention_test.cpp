#include "ops/attention/attention.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "core/fp_environment.h"
#include "core/philox.h"
#include "ops/all.h"

namespace loom {
namespace {

// A NaN that a rewound position left behind lies in the block of later ones, where p = 0 would meet it.
TEST(KvCache, L_74_forgets_what_a_rewind_left_behind) {
  const FpEnvironment environment;
  constexpr std::size_t kDim = 8, kKept = 70, kWritten = 140;
  const RandomStream random{.seed = 5};
  const auto at = [&](std::size_t p, std::size_t d) { return random.uniform(p * kDim + d) - 0.5f; };
  const auto run = [&](bool spoil) {
    KvCache cache = KvCache::create({.kv_heads = 1, .head_dim = kDim, .max_positions = 256, .window = 0, .max_chunk = 1}).value();
    std::vector<float> row(kDim);
    const std::vector<float> nan(kDim, std::numeric_limits<float>::quiet_NaN());
    for (std::size_t p = 0; p < kKept; ++p) {
      for (std::size_t d = 0; d < kDim; ++d) row[d] = at(p, d);
      cache.write(0, p, row.data(), row.data());
    }
    if (spoil) {
      for (std::size_t p = kKept; p < kWritten; ++p) cache.write(0, p, nan.data(), nan.data());
      cache.forget(kKept, kWritten);
    }
    const auto pool = ThreadPool::create(1).value();
    Arena arena = Arena::create(std::size_t{1} << 20).value();
    const Exec exec{*pool, *kernels_for(usable_isas().back()).value(), arena};
    for (std::size_t d = 0; d < kDim; ++d) row[d] = at(kKept, d);
    std::vector<float> out(kDim);
    KvCache* const caches[] = {&cache};
    const SequenceRows rows{.count = 1, .position = kKept};
    const ConstTensor x{row.data(), 1, kDim};
    attention(exec, {1, 1, kDim, 0, 0.35f}, x, x, x, {&rows, 1}, caches, {out.data(), 1, kDim});
    return out;
  };
  const std::vector<float> clean = run(false);
  for (const float v : clean) EXPECT_TRUE(std::isfinite(v));
  EXPECT_EQ(run(true), clean);
}

}  // namespace
}  // namespace loom
