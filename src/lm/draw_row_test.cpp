// A session draws by a DrawRow what a Sampler draws.

#include "lm/draw_row.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "ops/all.h"
#include "ops/choice/choice.h"

namespace loom::draw_row_test {
namespace {

using Ids = std::vector<std::int32_t>;
constexpr std::size_t kContext = 1000;

SamplingOptions some_options(std::mt19937& random, std::size_t vocab) {
  const auto one_of = [&](std::initializer_list<float> list) { return list.begin()[random() % list.size()]; };
  const int top_k[] = {1, 2, 40, 256, 100}, windows[] = {0, 1, 5, 64, -1, 900};
  SamplingOptions o;
  o.temperature = one_of({0, 1, 0.7f, 0.1f, 5, 1e-30f, 1e30f});
  o.top_k = top_k[random() % 5], o.top_p = one_of({1, 0.9f, 0.5f, 1e-6f}), o.min_p = one_of({0, 0.05f, 0.5f, 1, -0.0f});
  o.repetition_penalty = one_of({1, 1.1f, 0.6f, 3e38f, 1e-40f}), o.repetition_window = windows[random() % 6];
  o.frequency_penalty = one_of({0, 0.2f, -0.2f, 3e38f}), o.presence_penalty = one_of({0, 0.5f, -0.5f, -3e38f});
  o.seed = random();
  for (std::size_t i = random() % 6; i > 0; --i)
    o.logit_bias.emplace_back(random() % vocab, one_of({2, -3, 0.1f, 3.4e38f, -INFINITY, -3.4e38f}));
  if (o.logit_bias.size() > 2) o.logit_bias.push_back(o.logit_bias[1]);
  for (std::size_t i = random() % 4; i > 0; --i) o.banned.push_back(static_cast<std::int32_t>(random() % vocab));
  return o;
}

std::int32_t drawn(const DrawRow& row, std::span<const float> logits, const Ids& choices) {
  static const auto pool = ThreadPool::create(1).value();
  Arena none;
  std::int32_t id = -7;
  draw(Exec{*pool, *kernels_for(best_isa()).value(), none}, {logits.data(), 1, logits.size()}, {&row.drawing(), 1},
       choices, {&id, 1});
  return id;
}

TEST(DrawRow, draws_what_a_sampler_draws) {
  std::mt19937 random(20261130);
  std::normal_distribution<float> normal(0, 4);
  std::size_t none = 0;
  constexpr std::size_t kTimes = 3000;
  for (std::size_t n = 0; n < kTimes; ++n) {
    const std::size_t vocab = n % 100 == 0 ? 49152 : 3 + random() % 300;
    const SamplingOptions options = some_options(random, vocab);
    ASSERT_TRUE(DrawRow::takes(options, kContext));
    ASSERT_TRUE(check(options, vocab));
    std::vector<float> logits(vocab);
    for (float& v : logits) v = n % 7 == 0 ? std::round(normal(random)) : normal(random);
    if (n % 50 == 1) logits[random() % vocab] = n % 100 == 1 ? NAN : -INFINITY;
    if (n % 50 == 2)
      for (float& v : logits) v *= 1e-38f;
    Ids history(random() % 200);
    for (std::int32_t& id : history) id = static_cast<std::int32_t>(random() % vocab);
    const auto session = static_cast<std::uint32_t>(random() % 2);
    const auto expected = Sampler(options, vocab).choose(logits, history, session);

    // The last tokens are on the card, the ones before are fed.
    Ids choices(4, -1);
    const std::size_t unread = std::min<std::size_t>(random() % 4, history.size());
    const std::size_t fed = std::min<std::size_t>(random() % 5, history.size() - unread);
    std::vector<std::uint32_t> places;
    for (std::size_t i = 0; i < unread; ++i) {
      places.push_back(static_cast<std::uint32_t>((n + i) % 4));
      choices[places.back()] = history[history.size() - unread + i];
    }
    const std::span<const std::int32_t> tokens(history.data(), history.size() - unread);
    DrawRow row;
    row.set(options, session, tokens.first(tokens.size() - fed), tokens.last(fed), places);
    const std::int32_t id = drawn(row, logits, choices);
    EXPECT_EQ(id, expected ? *expected : kNoChoice) << n << " of " << vocab;
    none += id == kNoChoice;
  }
  EXPECT_LT(none, kTimes / 10);
}

TEST(DrawRow, options_that_it_does_not_take) {
  const auto takes = [](const SamplingOptions& o) { return DrawRow::takes(o, kContext); };
  EXPECT_TRUE(takes({}));
  EXPECT_TRUE(takes({.temperature = 1, .top_k = 256}));
  EXPECT_FALSE(takes({.temperature = 1}));
  EXPECT_FALSE(takes({.temperature = 1, .top_k = 257}));
  EXPECT_FALSE(takes({.temperature = 1, .top_k = 40, .typical_p = 0.5f}));
  EXPECT_TRUE(takes({.temperature = 1, .top_k = 1, .typical_p = 0.5f}));  // the best one, whatever else
  EXPECT_TRUE(takes({.top_k = 1000}));
  EXPECT_TRUE(takes({.repetition_penalty = 1.1f, .repetition_window = -1}));
  EXPECT_FALSE(DrawRow::takes({.repetition_penalty = 1.1f, .repetition_window = -1}, 4096));
  EXPECT_TRUE(DrawRow::takes({.repetition_window = -1}, 4096));  // nothing looks back
  EXPECT_FALSE(DrawRow::takes({.repetition_penalty = 1.1f, .repetition_window = 1025}, 4096));
  EXPECT_FALSE(takes({.banned = Ids(1025, 3)}));
  EXPECT_FALSE(DrawRow::draws({.banned = {3, 4}}));
  EXPECT_TRUE(DrawRow::draws({.banned = Ids(65, 3)}));
  EXPECT_TRUE(DrawRow::draws({.frequency_penalty = 0.5f}));
  EXPECT_FALSE(DrawRow::draws({.repetition_window = 0, .frequency_penalty = 0.5f}));
}

}  // namespace
}  // namespace loom::draw_row_test
