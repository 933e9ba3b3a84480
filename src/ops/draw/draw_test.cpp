#include "ops/draw/draw.h"

#include <algorithm>
#include <random>

#include "ops/choice/choice.h"
#include "ops/op_test.h"
#include "simd/math64.h"

namespace loom::op_test::of_draw {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

// The definition, written out: all logits are sorted, and every cut weighs what it leaves again.
std::int32_t drawn_by_definition(std::vector<float> logits, const Drawing& d) {
  std::vector<std::size_t> order;
  for (const LogitChange& change : d.changes) {
    float& logit = logits[static_cast<std::size_t>(change.id)];
    for (const float bias : change.biases) logit += bias;
    if (change.count != 0) {
      logit = logit > 0 ? logit / d.repetition_penalty : logit * d.repetition_penalty;
      logit -= d.frequency_penalty * static_cast<float>(change.count) + d.presence_penalty;
    }
    if (change.is_banned) logit = -kInf;
  }
  for (std::size_t i = 0; i < logits.size(); ++i)
    if (logits[i] != -kInf) order.push_back(i);
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return logits[a] > logits[b]; });
  if (order.empty()) return kNoChoice;
  order.resize(std::min<std::size_t>(order.size(), d.top_k));
  std::vector<double> weights;
  const auto weigh = [&] {
    weights.clear();
    double total = 0;
    for (const std::size_t i : order) {
      const double less = static_cast<double>(logits[i]) - static_cast<double>(logits[order[0]]);
      weights.push_back(exp64(less / static_cast<double>(d.temperature)));
      total += weights.back();
    }
    return total;
  };
  const double enough = static_cast<double>(d.top_p) * weigh();
  std::size_t kept = 0;
  for (double sum = 0; kept < weights.size() && (d.top_p == 1 || sum < enough); ++kept) sum += weights[kept];
  order.resize(kept);
  weigh();
  kept = 1;
  while (kept < weights.size() && weights[kept] >= static_cast<double>(d.min_p) * weights[0]) ++kept;
  order.resize(kept);
  const RandomStream stream{d.seed, RandomDomain::Sample, d.position, d.session};
  const double threshold = static_cast<double>(stream.uniform(0)) * weigh();
  double sum = 0;
  for (std::size_t i = 0; i < order.size(); ++i)
    if ((sum += weights[i]) > threshold) return static_cast<std::int32_t>(order[i]);
  return static_cast<std::int32_t>(order.back());
}

std::vector<float> ids_of(const std::vector<float>& x, const std::vector<Drawing>& drawings,
                          const std::vector<std::int32_t>& recent = {}) {
  return everywhere(false, [&](const Exec& exec) {
    std::vector<std::int32_t> ids(drawings.size(), -7);
    draw(exec, tensor(x, drawings.size(), x.size() / drawings.size()), drawings, recent, ids);
    return std::vector<float>(ids.begin(), ids.end());
  });
}

TEST(Draw, ids_are_drawn_as_defined) {
  std::mt19937 random(7);
  const auto one_of = [&](std::initializer_list<float> list) { return list.begin()[random() % list.size()]; };
  const float bias[] = {1.5f, -kInf, -2, 0.25f};
  for (const auto& [rows, cols] : {std::pair<std::size_t, std::size_t>{1, 1}, {3, 15}, {5, 1003}, {2, 49152}})
    for (std::uint32_t n = 0; n < 20; ++n) {
      const std::vector<float> x = values<float>(rows * cols, n, n % 3 == 0 ? 40 : 6);
      std::vector<std::vector<LogitChange>> changes(rows);
      std::vector<Drawing> drawings;
      std::vector<float> expected;
      for (std::size_t r = 0; r < rows; ++r) {
        for (std::size_t id = random() % 9; id < std::min<std::size_t>(cols, 200); id += 1 + random() % 9)
          changes[r].push_back({static_cast<std::int32_t>(id), static_cast<std::uint32_t>(random() % 3),
                                random() % 7 == 0, std::span(bias).first(random() % 5 % 4)});
        Drawing d;
        d.temperature = one_of({1, 0.5f, 3, 1e-20f}), d.top_k = 1 + random() % kMostDrawn;
        d.top_p = one_of({1, 0.9f, 0.3f}), d.min_p = one_of({0, 0.1f, 1});
        d.repetition_penalty = one_of({1, 1.2f, 0.7f}), d.frequency_penalty = one_of({0, 0.3f});
        d.presence_penalty = one_of({0, -0.4f});
        d.seed = n, d.position = static_cast<std::uint32_t>(r), d.changes = changes[r];
        drawings.push_back(d);
        const auto row = x.begin() + static_cast<std::ptrdiff_t>(r * cols);
        expected.push_back(static_cast<float>(drawn_by_definition({row, row + static_cast<std::ptrdiff_t>(cols)}, d)));
      }
      EXPECT_TRUE(same(ids_of(x, drawings), expected)) << rows << " rows of " << cols;
    }
}

TEST(Draw, recent_ids_count_as_those_of_changes) {
  const std::vector<float> x = {1, 2, 3, 4, 5};
  Drawing d{.repetition_penalty = 2, .frequency_penalty = 0.25f};
  const std::uint32_t places[] = {3, 0, 2};
  d.recent = places;
  // 5 / 2 - 0.5 and 4 / 2 - 0.25 are less than 3.
  EXPECT_TRUE(same(ids_of(x, {d}, {4, 2, 3, 4}), {2}));
  const LogitChange twice{.id = 2, .count = 1};
  d.changes = {&twice, 1};
  // 3 / 2 - 0.25 is less than 5 / 2 - 0.5, and that more than 2.
  EXPECT_TRUE(same(ids_of(x, {d}, {4, 99, -1, 4}), {3}));
  EXPECT_TRUE(same(ids_of(x, {d}, {4, 99, 3, 4}), {1}));
}

TEST(Draw, nothing_is_drawn_of_a_row_that_is_not_finite_or_banned) {
  for (const float odd : {kInf, -kInf, std::numeric_limits<float>::quiet_NaN()}) {
    const LogitChange banned{.id = 1, .is_banned = true};
    Drawing d;
    d.changes = {&banned, 1};
    EXPECT_TRUE(same(ids_of({0, odd, 1, 0, 3, 1}, {d, d}), {static_cast<float>(kNoChoice), 2})) << odd;
  }
  const float never = -kInf;
  const LogitChange changes[] = {
      {.id = 0, .is_banned = true}, {.id = 1, .biases = {&never, 1}}, {.id = 2, .is_banned = true}};
  Drawing d{.top_k = 2};
  d.changes = changes;
  EXPECT_TRUE(same(ids_of({3, 2, 1}, {d}), {static_cast<float>(kNoChoice)}));
}

}  // namespace
}  // namespace loom::op_test::of_draw
