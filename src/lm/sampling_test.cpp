#include "lm/sampling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "core/philox.h"
#include "simd/math64.h"

namespace loom {
namespace {

constexpr std::size_t kVocab = 24;
constexpr std::size_t kDraws = 20000;
constexpr float kInf = std::numeric_limits<float>::infinity();

std::vector<float> random_logits(std::uint32_t stream, float width = 6) {
  const RandomStream random{5, RandomDomain::Noise, stream, 1};
  std::vector<float> out;
  for (std::size_t i = 0; i < kVocab; ++i) out.push_back((random.uniform(i) - 0.5f) * width);
  return out;
}

std::vector<std::size_t> best_first(const std::vector<double>& p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return p[a] > p[b]; });
  return order;
}
void normalise(std::vector<double>& p) {
  const double sum = std::accumulate(p.begin(), p.end(), 0.0);
  for (double& v : p) v /= sum;
}
// Keeps the first ids of `order` until their share reaches `share`.
void keep_share(std::vector<double>& p, const std::vector<std::size_t>& order, double share) {
  std::vector<double> kept(p.size(), 0);
  double sum = 0;
  for (std::size_t i = 0; i < order.size() && sum < share; ++i) kept[order[i]] = p[order[i]], sum += p[order[i]];
  p = kept;
  normalise(p);
}

// X-21 in plain doubles: the probability of every id.
std::vector<double> reference(const SamplingOptions& o, std::vector<float> logits,
                              std::span<const std::int32_t> history) {
  for (const auto& [id, bias] : o.logit_bias) logits[static_cast<std::size_t>(id)] += bias;
  std::vector<std::size_t> counts(logits.size(), 0);
  const std::size_t window = std::min(history.size(), static_cast<std::size_t>(o.repetition_window));
  for (const std::int32_t id : history.last(window)) ++counts[static_cast<std::size_t>(id)];
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (counts[i] == 0) continue;
    logits[i] = logits[i] > 0 ? logits[i] / o.repetition_penalty : logits[i] * o.repetition_penalty;
    logits[i] -= o.frequency_penalty * static_cast<float>(counts[i]) + o.presence_penalty;
  }
  for (const std::int32_t id : o.banned) logits[static_cast<std::size_t>(id)] = -kInf;
  std::vector<double> p;
  for (const float v : logits) p.push_back(std::exp(static_cast<double>(v) / static_cast<double>(o.temperature)));
  normalise(p);
  if (o.top_k > 0)
    for (const std::vector<std::size_t> order = best_first(p);
         const std::size_t i :
         std::span(order).subspan(std::min<std::size_t>(p.size(), static_cast<std::size_t>(o.top_k))))
      p[i] = 0;
  normalise(p);
  if (o.typical_p < 1) {
    double entropy = 0;
    for (const double v : p) entropy -= v > 0 ? v * std::log(v) : 0;
    std::vector<double> nearness;
    for (const double v : p) nearness.push_back(v > 0 ? -std::abs(-std::log(v) - entropy) : -1e300);
    keep_share(p, best_first(nearness), static_cast<double>(o.typical_p));
  }
  if (o.top_p < 1) keep_share(p, best_first(p), static_cast<double>(o.top_p));
  const double best = *std::max_element(p.begin(), p.end());
  for (double& v : p)
    if (v < best * static_cast<double>(o.min_p)) v = 0;
  normalise(p);
  return p;
}

// Draws at positions base..base + kDraws: the counts must fit the probabilities, and nothing that was cut may appear.
void expect_drawn_as(const SamplingOptions& options, const std::vector<float>& logits, const std::vector<double>& p) {
  ASSERT_TRUE(check(options, logits.size()));
  Sampler sampler(options, logits.size());
  const std::vector<std::int32_t> history(kDraws, 0);
  std::vector<std::size_t> counts(logits.size(), 0);
  for (std::size_t n = 0; n < kDraws; ++n) {
    auto id = sampler.choose(logits, std::span(history).first(n));
    ASSERT_TRUE(id);
    ++counts[static_cast<std::size_t>(*id)];
  }
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double n = static_cast<double>(kDraws);
    EXPECT_NEAR(static_cast<double>(counts[i]), n * p[i], 5 * std::sqrt(n * p[i] * (1 - p[i])) + (p[i] > 0 ? 1 : 0))
        << "id " << i;
    if (p[i] * n > 20) {
      EXPECT_GT(counts[i], 0u) << "id " << i << " was cut";
    }
  }
}

struct Cut {
  const char* name;
  SamplingOptions options;
};

SamplingOptions with(float temperature, int top_k = 0, float top_p = 1, float min_p = 0, float typical_p = 1) {
  SamplingOptions o;
  o.temperature = temperature, o.top_k = top_k, o.top_p = top_p, o.min_p = min_p, o.typical_p = typical_p;
  return o;
}

TEST(Sampling, draws_follow_the_reference) {
  const Cut cuts[] = {
      {"plain", with(1)},
      {"cold", with(0.4f)},
      {"hot", with(2.5f)},
      {"top_k", with(1, 5)},
      {"top_k beyond", with(1, 1000)},
      {"top_p", with(1, 0, 0.7f)},
      {"top_p tiny", with(1, 0, 1e-6f)},
      {"min_p", with(1, 0, 1, 0.2f)},
      {"min_p one", with(1, 0, 1, 1)},
      {"typical", with(1, 0, 1, 0, 0.5f)},
      {"typical tiny", with(1, 0, 1, 0, 0.01f)},
      {"all", with(1.3f, 15, 0.9f, 0.1f, 0.8f)},
  };
  for (const Cut& cut : cuts)
    for (const std::uint32_t stream : {1u, 2u}) {
      SCOPED_TRACE(fmt::format("{} {}", cut.name, stream));
      const std::vector<float> logits = random_logits(stream);
      SamplingOptions options = cut.options;
      options.seed = 1000 + stream;
      expect_drawn_as(options, logits, reference(options, logits, {}));
    }
}

TEST(Sampling, biases_and_bans) {
  SamplingOptions options = with(1, 0, 0.95f);
  options.logit_bias = {{3, 7.0f}, {7, -100.0f}, {9, -kInf}, {3, 0.5f}};
  options.banned = {0, 23};
  const std::vector<float> logits = random_logits(3);
  const std::vector<double> p = reference(options, logits, {});
  EXPECT_EQ(p[9], 0);
  EXPECT_EQ(p[23], 0);
  EXPECT_GT(p[3], 0.3);
  expect_drawn_as(options, logits, p);
}

// Penalties look at the history; its length is the position, so the history stays as it is and the session number
// varies.
TEST(Sampling, penalties_over_the_window) {
  std::vector<std::int32_t> history;
  for (int i = 0; i < 40; ++i) history.push_back(i % 7 * 2);
  history.insert(history.end(), {5, 5, 5, 11});
  const std::vector<float> logits = random_logits(4);
  for (const int window : {0, 2, 4, 64})
    for (const auto& [repetition, frequency, presence] : {std::tuple(1.7f, 0.0f, 0.0f),
                                                          {1.0f, 0.3f, 0.0f},
                                                          {1.0f, 0.0f, 0.9f},
                                                          {1.3f, 0.2f, -0.4f},
                                                          {0.5f, -0.1f, 0.0f}}) {
      SCOPED_TRACE(fmt::format("window {}: {} {} {}", window, repetition, frequency, presence));
      SamplingOptions options = with(1);
      options.repetition_window = window;
      options.repetition_penalty = repetition, options.frequency_penalty = frequency,
      options.presence_penalty = presence;
      const std::vector<double> p = reference(options, logits, history);
      Sampler sampler(options, kVocab);
      std::vector<std::size_t> counts(kVocab, 0);
      for (std::uint32_t session = 0; session < kDraws; ++session)
        ++counts[static_cast<std::size_t>(*sampler.choose(logits, history, session))];
      for (std::size_t i = 0; i < kVocab; ++i) {
        const double n = static_cast<double>(kDraws);
        EXPECT_NEAR(static_cast<double>(counts[i]), n * p[i], 5 * std::sqrt(n * p[i] * (1 - p[i])) + 1) << "id " << i;
      }
      options.temperature = 0;  // and the best of them without a draw
      EXPECT_EQ(*Sampler(options, kVocab).choose(logits, history), static_cast<std::int32_t>(best_first(p)[0]));
    }
}

// Many candidates are sorted by their bits, not by comparisons: many ties, both zeros and both signs among them.
TEST(Sampling, LargeVocabulariesAreDrawnFromInTheOrderOfComparisons) {
  constexpr std::size_t kMany = 5000;
  const RandomStream random{.seed = 21};
  std::vector<float> logits(kMany);
  for (std::size_t i = 0; i < kMany; ++i) {
    logits[i] = std::floor(random.uniform(i) * 64) / 4 - 8;
    if (logits[i] == 0 && i % 2 == 0) logits[i] = -0.0f;
  }
  std::vector<std::size_t> order(kMany);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater(), [&](std::size_t i) { return logits[i]; });
  SamplingOptions options;
  options.temperature = 3;
  std::vector<double> sums;  // of weights, in this order
  for (double total = 0; const std::size_t i : order) {
    total += exp64((static_cast<double>(logits[i]) - static_cast<double>(logits[order[0]])) / 3.0);
    sums.push_back(total);
  }
  const std::int32_t history[] = {1, 2};
  std::set<std::int32_t> drawn;
  for (options.seed = 0; options.seed < 500; ++options.seed) {
    const RandomStream stream{options.seed, RandomDomain::Sample, 2, 0};
    const double threshold = static_cast<double>(stream.uniform(0)) * sums.back();
    const auto at = std::ranges::upper_bound(sums, threshold) - sums.begin();
    const std::int32_t id = Sampler(options, kMany).choose(logits, history).value();
    EXPECT_EQ(id, static_cast<std::int32_t>(order[static_cast<std::size_t>(at)])) << options.seed;
    drawn.insert(id);
  }
  EXPECT_GT(drawn.size(), 300u);
}

TEST(Sampling, NoTokenLeftIsAnErrorThatSaysWhy) {
  const std::vector<float> logits = random_logits(3);
  const std::int32_t history[] = {1, 2};
  SamplingOptions options;
  for (std::size_t id = 0; id < kVocab; ++id) options.logit_bias.emplace_back(static_cast<std::int32_t>(id), -kInf);
  for (const float temperature : {0.0f, 1.0f}) {
    options.temperature = temperature;
    const auto none = Sampler(options, kVocab).choose(logits, history);
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, Code::InvalidArgument);
    EXPECT_NE(none.error().message.find("logit_bias, penalties and bans leave none of 24"), std::string::npos);
    const std::uint64_t allowed[] = {~std::uint64_t{0}};
    EXPECT_EQ(Sampler(options, kVocab).choose(logits, history, 0, allowed), Sampler::kNoToken);
    SamplingOptions one = options;
    one.logit_bias.pop_back();
    EXPECT_EQ(Sampler(one, kVocab).choose(logits, history), static_cast<std::int32_t>(kVocab - 1));
  }
}

// Rows longer than the blocks that argmax() walks, few sizes so that many are equal, infinities and NaN anywhere.
TEST(Sampling, greedy_agrees_with_a_plain_loop) {
  const RandomStream random{.seed = 20};
  std::uint64_t at = 0;
  for (std::size_t n = 1; n < 400; n += n < 140 ? 1 : 37) {
    std::vector<float> logits(n);
    for (float& v : logits) v = std::floor(random.uniform(at++) * 8) - 4;
    if (n % 3 == 0) logits[n / 2] = -INFINITY;
    if (n % 5 == 0) std::ranges::fill(logits, -INFINITY);
    if (n % 7 == 0) logits[n - 1] = INFINITY;
    std::size_t best = 0;
    for (std::size_t i = 0; i < n; ++i) best = logits[i] > logits[best] ? i : best;
    EXPECT_EQ(argmax(logits), static_cast<std::int32_t>(best)) << n;
    logits[static_cast<std::size_t>(random.uniform(at++) * static_cast<float>(n))] = std::nanf("");
    EXPECT_EQ(argmax(logits), -1) << n;
  }
}

TEST(Sampling, greedy_takes_the_lowest_id_on_ties) {
  const std::vector<float> logits = {1, 5, -2, 5, 5, 0};
  EXPECT_EQ(argmax(logits), 1);
  EXPECT_EQ(argmax(std::vector<float>(9, -3.0f)), 0);
  EXPECT_EQ(argmax(std::vector<float>{-0.0f, 0.0f}), 0);
  EXPECT_EQ(argmax(std::vector<float>{0, std::nanf("")}), -1);
  for (SamplingOptions options : {SamplingOptions{}, with(3, 1)}) {
    EXPECT_EQ(*Sampler(options, 6).choose(logits, {}), 1);
    options.banned = {1};
    EXPECT_EQ(*Sampler(options, 6).choose(logits, {}), 3);
  }
  // Ties are broken in favour of lower ids.
  Sampler two(with(1, 2), 6);
  const std::vector<std::int32_t> history(200, 0);
  for (std::size_t n = 0; n < 200; ++n) {
    const std::int32_t id = *two.choose(logits, std::span(history).first(n));
    EXPECT_TRUE(id == 1 || id == 3) << id;
  }
}

std::vector<std::int32_t> series(SamplingOptions options, std::uint64_t seed, std::uint32_t session = 0) {
  options.seed = seed;
  Sampler sampler(options, kVocab);
  const std::vector<float> logits = random_logits(6, 2);
  const std::vector<std::int32_t> history(64, 1);
  std::vector<std::int32_t> out;
  for (std::size_t n = 0; n < 64; ++n) out.push_back(*sampler.choose(logits, std::span(history).first(n), session));
  return out;
}

TEST(Sampling, a_draw_depends_on_seed_position_and_session_alone) {
  const SamplingOptions options = with(1, 0, 0.9f);
  EXPECT_EQ(series(options, 1), series(options, 1));
  EXPECT_NE(series(options, 1), series(options, 2));
  EXPECT_NE(series(options, 1), series(options, std::uint64_t{1} << 40 | 1));
  EXPECT_NE(series(options, 1, 0), series(options, 1, 1));
  // One draw without those before it.
  SamplingOptions late = options;
  late.seed = 1;
  const std::vector<std::int32_t> history(64, 1);
  EXPECT_EQ(*Sampler(late, kVocab).choose(random_logits(6, 2), std::span(history).first(63)), series(options, 1)[63]);
}

TEST(Sampling, logits_that_are_not_finite_are_an_error) {
  for (const float bad : {std::nanf(""), kInf, -kInf})
    for (const SamplingOptions& options : {SamplingOptions{}, with(1)}) {
      std::vector<float> logits = random_logits(7);
      logits[17] = bad;
      auto id = Sampler(options, kVocab).choose(logits, {});
      ASSERT_FALSE(id);
      EXPECT_EQ(id.error().code, Code::NonFinite);
      EXPECT_NE(id.error().text().find("17"), std::string::npos) << id.error().text();
    }
}

// Options at the edge of their range overflow f32; the best token still wins and a banned one never does.
TEST(Sampling, extreme_options_stay_sound) {
  std::vector<float> logits(kVocab, -30.0f);
  logits[4] = 30, logits[5] = 29, logits[6] = 28;
  const std::vector<std::int32_t> history = {4, 4, 4, 7};
  for (const float temperature : {1e-45f, 1e-38f, 1e-3f})
    EXPECT_EQ(*Sampler(with(temperature), kVocab).choose(logits, history), 4) << temperature;
  EXPECT_EQ(*Sampler(with(1e-45f, 0, 0.5f, 0.5f, 0.5f), kVocab).choose(logits, history), 4);
  const auto choose = [&](auto&& change) {
    SamplingOptions options = with(1);
    change(options);
    EXPECT_TRUE(check(options, kVocab));
    return *Sampler(options, kVocab).choose(logits, history);
  };
  EXPECT_EQ(choose([](SamplingOptions& o) { o.repetition_penalty = 1e-40f; }), 4);  // 30 / 1e-40 is beyond f32
  EXPECT_EQ(choose([](SamplingOptions& o) { o.logit_bias = {{9, 3e38f}, {9, 3e38f}}; }), 9);
  EXPECT_NE(choose([](SamplingOptions& o) { o.frequency_penalty = 3e38f; }), 4);
  const auto banned_and_praised = [](SamplingOptions& o) {
    o.logit_bias = {{4, -kInf}};
    o.frequency_penalty = -3e38f;
    o.banned = {7};
  };
  EXPECT_NE(choose(banned_and_praised), 4);
  EXPECT_NE(choose(banned_and_praised), 7);
}

TEST(Sampling, options_out_of_range_are_named) {
  const auto refused = [](const char* name, auto&& change) {
    SamplingOptions options;
    change(options);
    auto checked = check(options, kVocab);
    ASSERT_FALSE(checked) << name;
    EXPECT_EQ(checked.error().code, Code::InvalidArgument) << name;
    EXPECT_NE(checked.error().text().find(name), std::string::npos) << checked.error().text();
  };
  const float nan = std::nanf("");
  for (const float v : {-0.1f, nan, kInf}) refused("temperature", [&](auto& o) { o.temperature = v; });
  refused("top_k", [](auto& o) { o.top_k = -1; });
  for (const float v : {0.0f, -1.0f, 1.1f, nan}) refused("top_p", [&](auto& o) { o.top_p = v; });
  for (const float v : {-0.1f, 1.1f, nan}) refused("min_p", [&](auto& o) { o.min_p = v; });
  for (const float v : {0.0f, 1.1f, nan}) refused("typical_p", [&](auto& o) { o.typical_p = v; });
  for (const float v : {0.0f, -1.0f, nan, kInf})
    refused("repetition_penalty", [&](auto& o) { o.repetition_penalty = v; });
  refused("repetition_window", [](auto& o) { o.repetition_window = -2; });
  for (const float v : {nan, kInf, -kInf}) refused("frequency_penalty", [&](auto& o) { o.frequency_penalty = v; });
  for (const float v : {nan, kInf, -kInf}) refused("presence_penalty", [&](auto& o) { o.presence_penalty = v; });
  for (const std::int32_t id : {-1, static_cast<std::int32_t>(kVocab)}) {
    refused("logit_bias", [&](auto& o) { o.logit_bias = {{id, 1.0f}}; });
    refused("banned", [&](auto& o) { o.banned = {id}; });
  }
  refused("logit_bias", [&](auto& o) { o.logit_bias = {{1, nan}}; });
  refused("logit_bias", [](auto& o) { o.logit_bias = {{1, kInf}}; });
  EXPECT_TRUE(check(SamplingOptions{}, kVocab));
}

TEST(Sampling, logprobs_are_the_softmax_of_the_logits) {
  const std::vector<float> logits = random_logits(8, 40);
  const std::vector<double> p = reference(with(1), logits, {});
  const std::vector<TokenLogprob> all = logprobs(logits, -1, 1000);
  ASSERT_EQ(all.size(), kVocab);
  double sum = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    sum += std::exp(static_cast<double>(all[i].logprob));
    EXPECT_NEAR(static_cast<double>(all[i].logprob), std::log(p[static_cast<std::size_t>(all[i].id)]), 1e-5);
    EXPECT_EQ(static_cast<std::size_t>(all[i].id), best_first(p)[i]);
  }
  EXPECT_NEAR(sum, 1, 1e-6);

  const std::vector<TokenLogprob> three = logprobs(logits, 5, 3);
  ASSERT_EQ(three.size(), 4u);
  EXPECT_EQ(three[0].id, 5);
  EXPECT_NEAR(static_cast<double>(three[0].logprob), std::log(p[5]), 1e-5);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(three[i + 1].id, all[i].id);
  EXPECT_EQ(logprobs(logits, 5, 0).size(), 1u);

  const std::vector<float> far = {1000, -1000, 1000};  // no overflow; ties by id
  const std::vector<TokenLogprob> tied = logprobs(far, -1, 3);
  EXPECT_EQ(tied[0].id, 0);
  EXPECT_EQ(tied[1].id, 2);
  EXPECT_NEAR(static_cast<double>(tied[0].logprob), std::log(0.5), 1e-6);
  EXPECT_EQ(tied[2].logprob, -2000 + static_cast<float>(std::log(0.5)));
}

TEST(Sampling, the_penalties_look_back_on_a_window) {
  std::vector<float> logits(kVocab, 0.0f);
  logits[3] = 2, logits[4] = 1.9f;  // 3 is best until it is penalised
  std::vector<std::int32_t> history(100, 7);
  history[0] = 3;
  const auto chosen = [&](int window, float repetition, float frequency, float presence) {
    SamplingOptions o;
    o.repetition_window = window, o.repetition_penalty = repetition, o.frequency_penalty = frequency,
    o.presence_penalty = presence;
    EXPECT_TRUE(check(o, kVocab));
    return Sampler(o, kVocab).choose(logits, history).value();
  };
  for (const auto& [repetition, frequency, presence] :
       {std::array{1.5f, 0.0f, 0.0f}, {1.0f, 0.5f, 0.0f}, {1.0f, 0.0f, 0.5f}}) {
    EXPECT_EQ(chosen(SamplingOptions().repetition_window, repetition, frequency, presence), 3);  // 64
    EXPECT_EQ(chosen(99, repetition, frequency, presence), 3);
    EXPECT_EQ(chosen(100, repetition, frequency, presence), 4);
    EXPECT_EQ(chosen(1000, repetition, frequency, presence), 4);
    EXPECT_EQ(chosen(-1, repetition, frequency, presence), 4);
    EXPECT_EQ(chosen(0, repetition, frequency, presence), 3);
  }
}

}  // namespace
}  // namespace loom
