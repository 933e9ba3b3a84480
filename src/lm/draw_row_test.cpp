// A session draws by a DrawRow what a Sampler draws.

#include "lm/draw_row.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "lm/language_model.h"
#include "lm/session.h"
#include "ops/all.h"
#include "ops/choice/choice.h"
#include "support/files.h"

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

// Logits as those of language models, where the weight of an id falls with a power of its rank; peaked ones; flat ones.
enum class Shape { Language, Peaked, Flat };

std::vector<float> logits_of(Shape shape, std::mt19937& random, std::size_t vocab) {
  std::vector<float> logits(vocab);
  std::normal_distribution<float> normal(0, 1);
  const float falls = std::uniform_real_distribution<float>(1.5f, 3)(random);
  for (std::size_t i = 0; i < vocab; ++i) {
    logits[i] = normal(random) * (shape == Shape::Flat ? 0.3f : 1.0f);
    if (shape == Shape::Language) logits[i] = 20 - falls * std::log(static_cast<float>(i + 1)) + 0.3f * logits[i];
  }
  std::ranges::shuffle(logits, random);
  if (shape == Shape::Peaked)
    for (int i = 0; i < 30; ++i) logits[random() % vocab] = 14 + 4 * normal(random);
  return logits;
}

TEST(DrawRow, draws_of_all_ids_are_those_of_a_sampler_or_undecided) {
  std::mt19937 random(20261201);
  const auto one_of = [&](std::initializer_list<float> list) { return list.begin()[random() % list.size()]; };
  std::size_t all[3] = {}, decided[3] = {};
  const std::tuple<std::size_t, std::size_t> sizes[] = {
      {257, 300}, {300, 600}, {5000, 2400}, {49152, 600}, {128256, 200}};
  for (const auto& [vocab, times] : sizes)
    for (std::size_t n = 0; n < times; ++n) {
      const std::size_t shape = n % 3;
      std::vector<float> logits = logits_of(static_cast<Shape>(shape), random, vocab);
      if (n % 16 == 3)
        for (float& v : logits) v = std::round(v);  // many are equal
      SamplingOptions o;
      o.temperature = std::uniform_real_distribution<float>(0.3f, n % 4 == 0 ? 2.0f : 1.0f)(random);
      o.top_p = one_of({1, 1, 0.95f, 0.9f, 0.5f, 0.999f}), o.min_p = one_of({0, 0, 0.05f, 0.01f, 1e-4f, 1e-9f});
      o.repetition_penalty = one_of({1, 1, 1.1f, 0.9f}), o.frequency_penalty = one_of({0, 0, 0.2f});
      o.presence_penalty = one_of({0, 0, 0.5f, -0.5f});
      o.seed = random();
      for (std::size_t i = random() % 4; i > 0; --i)
        o.logit_bias.emplace_back(random() % vocab, one_of({20, 2, -INFINITY}));
      for (std::size_t i = random() % 3; i > 0; --i) o.banned.push_back(static_cast<std::int32_t>(random() % vocab));
      ASSERT_TRUE(DrawRow::takes(o, kContext));
      Ids history(random() % 100);
      for (std::int32_t& id : history) id = static_cast<std::int32_t>(random() % vocab);
      DrawRow row;
      row.set(o, 1, history, {});
      const std::int32_t id = drawn(row, logits, {});
      ++all[shape];
      if (id == kNoChoice) continue;
      ASSERT_EQ(id, Sampler(o, vocab).choose(logits, history, 1).value())
          << n << " of " << vocab << ", temperature " << o.temperature << ", top_p " << o.top_p << ", min_p "
          << o.min_p;
      ++decided[shape];
    }
  const auto share = [&](Shape shape) {
    const auto s = static_cast<std::size_t>(shape);
    return static_cast<double>(decided[s]) / static_cast<double>(all[s]);
  };
  EXPECT_GT(share(Shape::Language), 0.8);
  EXPECT_GT(share(Shape::Peaked), 0.95);
  EXPECT_LT(share(Shape::Flat), 0.6);
  EXPECT_GT(share(Shape::Flat), 0.1);  // few ids, top_p of 0.5
}

TEST(DrawRow, few_draws_of_a_real_model_are_undecided) {
  const auto loaded = load_language_model(test::smollm2());
  ASSERT_TRUE(loaded) << loaded.error().text();
  const auto vocab = static_cast<std::size_t>(loaded->decoder->config.vocab_size);
  constexpr std::size_t kTokens = 150;
  SessionOptions session_options;
  session_options.context_tokens = 200;
  const auto session = Session::create(loaded->decoder, session_options).value();
  Ids prompt;
  ASSERT_TRUE(loaded->tokenizer->encode("The history of the city begins with", {}, prompt));
  struct Expected {
    SamplingOptions options;
    std::size_t most;  // undecided ones
  };
  const Expected all[] = {
      {{.temperature = 0.8f, .seed = 2}, 5},   {{.temperature = 1, .top_p = 0.95f, .seed = 4}, 8},
      {{.temperature = 1, .seed = 6}, 15},     {{.temperature = 1, .min_p = 0.05f, .seed = 5}, 0},
      {{.temperature = 1.3f, .seed = 7}, 100},
  };
  std::size_t sum = 0;
  for (const auto& [options, most] : all) {
    SCOPED_TRACE(fmt::format("temperature {}, top_p {}, min_p {}", options.temperature, options.top_p, options.min_p));
    ASSERT_TRUE(session->truncate(0));
    Sampler sampler(options, vocab);
    Ids next = prompt;
    std::size_t undecided = 0;
    for (std::size_t n = 0; n < kTokens; ++n) {
      const auto id = session->feed_and_choose({.sequence = 0, .ids = next, .sampling = &options}, 0);
      ASSERT_TRUE(id) << id.error().text();
      next = {sampler.choose(session->logits().value(), session->tokens()).value()};
      undecided += *id == kNoChoice;
      if (*id != kNoChoice) {
        ASSERT_EQ(*id, next[0]) << n;
      }
    }
    EXPECT_LE(undecided, most);
    sum += undecided;
  }
  EXPECT_GT(sum, 0u);
}

TEST(DrawRow, options_that_it_does_not_take) {
  const auto takes = [](const SamplingOptions& o) { return DrawRow::takes(o, kContext); };
  EXPECT_TRUE(takes({}));
  EXPECT_TRUE(takes({.temperature = 1, .top_k = 256}));
  EXPECT_TRUE(takes({.temperature = 1}));
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
