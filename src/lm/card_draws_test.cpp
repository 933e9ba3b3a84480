#include "lm/card_draws.h"

#include <gtest/gtest.h>

namespace loom {
namespace {

// Draws of which the card decides those for which decides(n); returns how many it was asked for.
std::size_t asked_of(CardDraws& draws, std::size_t times, auto&& decides) {
  std::size_t asked = 0;
  for (std::size_t n = 0; n < times; ++n) {
    if (!draws.tries()) {
      draws.on_host();
      continue;
    }
    ++asked;
    decides(n) ? draws.on_drawn() : draws.on_undecided();
  }
  return asked;
}

TEST(CardDraws, a_card_that_decides_most_draws_is_asked_for_all) {
  CardDraws draws;
  EXPECT_EQ(draws.ahead(), ChoiceRun::kMostAhead);
  EXPECT_EQ(asked_of(draws, 1000, [](std::size_t n) { return n % 6 != 5; }), 1000u);
  EXPECT_EQ(asked_of(draws, 1000, [](std::size_t n) { return n % 50 > 1; }), 1000u);
}

TEST(CardDraws, a_card_that_decides_none_is_asked_seldom) {
  CardDraws draws;
  // Three, then one after each of 16, 32, 64, 128, 256, 256 and 256 draws by the host.
  EXPECT_EQ(asked_of(draws, 3 + 16 + 32 + 64 + 128 + 3 * 256 + 6, [](std::size_t) { return false; }), 9u);
  CardDraws half;
  EXPECT_LT(asked_of(half, 1000, [](std::size_t n) { return n % 2 == 0; }), 100u);
}

TEST(CardDraws, a_card_that_decides_again_is_asked_again) {
  CardDraws draws;
  asked_of(draws, 500, [](std::size_t) { return false; });
  asked_of(draws, 256, [](std::size_t) { return true; });
  EXPECT_EQ(asked_of(draws, 300, [](std::size_t) { return true; }), 300u);
  // And the first pause is a short one again.
  EXPECT_EQ(asked_of(draws, 3 + 16 + 1, [](std::size_t) { return false; }), 4u);
}

TEST(CardDraws, fewer_tokens_are_computed_ahead_after_an_undecided_one) {
  CardDraws draws;
  draws.on_undecided();
  EXPECT_EQ(draws.ahead(), 1u);
  for (int i = 0; i < 8; ++i) draws.on_drawn();
  EXPECT_EQ(draws.ahead(), 2u);
  for (int i = 0; i < 100; ++i) draws.on_drawn();
  EXPECT_EQ(draws.ahead(), ChoiceRun::kMostAhead);
}

}  // namespace
}  // namespace loom
