#include "ops/choice/choice.h"

#include "ops/op_test.h"

namespace loom::op_test::of_choice {
namespace {

template <class T>
std::vector<T> chosen(const std::vector<T>& x, std::size_t rows, const std::vector<std::int32_t>& banned = {}) {
  return everywhere(false, [&](const Exec& exec) {
    std::vector<std::int32_t> ids(rows, -7);
    choose(exec, tensor(x, rows, x.size() / rows), banned, ids);
    return std::vector<T>(ids.begin(), ids.end());
  });
}

template <class T>
void check_greatest() {
  for (const auto& [rows, cols] : {std::pair<std::size_t, std::size_t>{1, 1}, {3, 15}, {2, 1003}, {5, 49152}}) {
    std::vector<T> x = values<T>(rows * cols, 1);
    std::vector<T> wanted(rows);
    for (std::size_t r = 0; r < rows; ++r) {
      const auto row = x.begin() + static_cast<std::ptrdiff_t>(r * cols);
      wanted[r] = static_cast<T>(std::max_element(row, row + static_cast<std::ptrdiff_t>(cols)) - row);
    }
    EXPECT_TRUE(same(chosen(x, rows), wanted)) << rows << " rows of " << cols;
  }
}
LOOM_OP_TEST(Choice, X_20_the_greatest_of_each_row_is_chosen, check_greatest)

template <class T>
void check_ties() {
  using L = std::numeric_limits<T>;
  EXPECT_TRUE(same(chosen<T>({1, 3, 3, 2}, 1), {1}));
  EXPECT_TRUE(same(chosen<T>({-T{0}, T{0}}, 1), {0}));
  EXPECT_TRUE(same(chosen<T>({T{0}, -T{0}, -1}, 1), {0}));
  EXPECT_TRUE(same(chosen<T>({-L::denorm_min(), -T{0}, T{0}, -L::max()}, 1), {1}));
  EXPECT_TRUE(same(chosen<T>({T{0}, L::denorm_min()}, 1), {1}));
  EXPECT_TRUE(same(chosen<T>({L::lowest(), L::lowest()}, 1), {0}));
  EXPECT_TRUE(same(chosen<T>({L::lowest(), L::max(), L::max()}, 1), {1}));
}
LOOM_OP_TEST(Choice, X_20_the_lowest_of_equals_is_chosen, check_ties)

template <class T>
void check_banned() {
  EXPECT_TRUE(same(chosen<T>({5, 4, 3, 5, 1, 2}, 2, {0, 3}), {1, 2}));
  EXPECT_TRUE(same(chosen<T>({1, 2, 3}, 1, {2, 2, 99, -5}), {1}));
  EXPECT_TRUE(same(chosen<T>({1, 2, 3}, 1, {0, 1, 2}), {0}));
}
LOOM_OP_TEST(Choice, X_21_what_is_banned_is_not_chosen, check_banned)

template <class T>
void check_finiteness() {
  using L = std::numeric_limits<T>;
  for (const T odd : {L::quiet_NaN(), -L::quiet_NaN(), L::infinity(), -L::infinity()})
    for (const std::size_t at : {0u, 500u, 1002u}) {
      std::vector<T> x = values<T>(2 * 1003, 2);
      x[at] = odd;
      const std::vector<T> ids = chosen(x, 2, {static_cast<std::int32_t>(at)});
      EXPECT_EQ(ids[0], static_cast<T>(kNoChoice)) << "banned or not";
      EXPECT_GE(ids[1], 0);
    }
}
LOOM_OP_TEST(Choice, X_20_nothing_is_chosen_of_a_row_that_is_not_finite, check_finiteness)

}  // namespace
}  // namespace loom::op_test::of_choice
