#include "training/timings.h"

#include <gtest/gtest.h>

#include <cmath>

namespace loom {
namespace {

TEST(LossWatch, tells_once_that_the_loss_runs_away) {  // T-04
  LossWatch watch;
  for (int i = 0; i < 100; ++i) EXPECT_EQ(watch.observe(2.0 / (1 + i), 0.1), "");
  int told = 0;
  for (int i = 0; i < 100; ++i) told += watch.observe(5, 0.1).empty() ? 0 : 1;
  EXPECT_EQ(told, 1);
  for (int i = 0; i < 200; ++i) EXPECT_EQ(watch.observe(0.02, 0.1), "");  // it came back
  std::string text;
  for (int i = 0; i < 100 && text.empty(); ++i) text = watch.observe(50, 0.25);
  EXPECT_NE(text.find("learning rate (0.25) may be too high"), std::string::npos) << text;
}

TEST(LossWatch, noise_and_numbers_that_are_none_are_no_explosion) {  // T-04
  LossWatch steady, tiny, negative;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(steady.observe(1 + 0.9 * std::sin(i * 1.7), 0.1), "");
    EXPECT_EQ(steady.observe(NAN, 0.1), "");
    EXPECT_EQ(steady.observe(INFINITY, 0.1), "");
    EXPECT_EQ(tiny.observe(i < 20 ? 1 : i % 100 == 0 ? 1e-3 : 1e-7, 0.1), "");
    EXPECT_EQ(negative.observe(i - 500.0, 0.1), "");
  }
}

}  // namespace
}  // namespace loom
