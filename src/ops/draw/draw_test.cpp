#include "ops/draw/draw.h"

#include <algorithm>
#include <random>

#include "ops/choice/choice.h"
#include "ops/draw/tight_rows_test.h"
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
  if (d.top_k != 0) order.resize(std::min<std::size_t>(order.size(), d.top_k));
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

TEST(Draw, where_the_last_digits_of_the_sum_decide_nothing_is_drawn) {
  std::mt19937_64 random(20261130);
  std::size_t decided[2] = {}, undecided[2] = {}, drawn = 0, cut = 0;
  constexpr std::size_t kTimes = 1200, kRows = 4;
  for (std::size_t n = 0; n < kTimes; n += kRows) {
    const std::size_t cols = 700 + random() % 3000;
    std::vector<float> x, expected;
    std::vector<Drawing> drawings;
    std::vector<int> digits;
    for (std::size_t r = 0; r < kRows; ++r) {
      const draw_test::TightRow row = draw_test::tight_row(random, cols);
      x.insert(x.end(), row.logits.begin(), row.logits.end());
      drawings.push_back(row.drawing), digits.push_back(row.digits);
      expected.push_back(static_cast<float>(drawn_by_definition(row.logits, row.drawing)));
    }
    const std::vector<float> ids = ids_of(x, drawings);
    for (std::size_t r = 0; r < kRows; ++r) {
      const bool is_left = ids[r] == static_cast<float>(kNoChoice);
      if (!is_left) {
        ASSERT_EQ(ids[r], expected[r]) << digits[r] << " digits, top_p " << drawings[r].top_p;
      }
      (drawings[r].top_p == 1 ? drawn : cut) += is_left ? 0 : 1;
      if (drawings[r].top_p < 1 || (digits[r] > 18 && digits[r] < 22)) continue;
      ++(is_left ? undecided : decided)[digits[r] >= 22 ? 1 : 0];
    }
  }
  // With less than 19 digits another sum can be near by chance.
  EXPECT_GT(decided[0], 99 * undecided[0]);
  EXPECT_EQ(decided[1], 0u);
  EXPECT_GT(undecided[1], kTimes / 8);
  EXPECT_GT(cut, kTimes / 4);
}

// 300 logits fall evenly, beside others that are tiny.
TEST(Draw, of_all_ids_the_bounds_decide) {
  constexpr std::size_t kCols = 3000;
  std::vector<float> x(kCols, -100);
  for (std::size_t i = 0; i < 300; ++i) x[7 * i] = 3 - static_cast<float>(i) / 50;
  constexpr std::size_t kTimes = 60;
  const auto share = [&](Drawing d) {
    std::size_t decided = 0;
    for (std::uint32_t position = 0; position < kTimes; ++position) {
      d.position = position, d.top_k = 0;
      const float id = ids_of(x, {d})[0];
      if (id == static_cast<float>(kNoChoice)) continue;
      EXPECT_EQ(id, static_cast<float>(drawn_by_definition(x, d)));
      ++decided;
    }
    return decided;
  };
  EXPECT_GT(share({}), kTimes - 4);                 // the others weigh less than 1 % of all
  EXPECT_EQ(share({.temperature = 0.1f}), kTimes);  // nothing of the sum
  EXPECT_EQ(share({.top_p = 0.9f}), kTimes);        // the cut is among the best
  EXPECT_EQ(share({.min_p = 0.1f}), kTimes);        // so is this one
  EXPECT_LT(share({.temperature = 200}), kTimes / 3);
  EXPECT_LT(share({.temperature = 1000, .top_p = 0.9f}), kTimes / 3);
}

}  // namespace
}  // namespace loom::op_test::of_draw
