#include "learning/clip.h"

#include <cmath>

#include "learning/test_data.h"

namespace loom {
namespace {

TEST(Clip, T_40_the_norm_is_over_all_tensors_and_clips_before_the_value) {
  test::Machine m;
  std::vector<float> a = {3, 0, 0};
  std::vector<double> b = {0, -4};
  const std::vector<Tensor> g = {test::row_of(a), test::row_of(b)};
  EXPECT_EQ(gradient_norm(m.exec, g), 5.0);
  EXPECT_EQ(clip_norm(m.exec, g, 0).value(), 5.0);
  EXPECT_EQ(clip_norm(m.exec, g, 5).value(), 5.0);
  EXPECT_EQ(a, (std::vector<float>{3, 0, 0}));
  EXPECT_EQ(clip_norm(m.exec, g, 2.5).value(), 5.0);
  const double factor = 2.5 / (5 + 1e-6);
  EXPECT_EQ(a[0], 3 * static_cast<float>(factor));
  EXPECT_EQ(b[1], -4 * factor);
  ASSERT_TRUE(clip_value(m.exec, g, 1.75));
  EXPECT_EQ(a[0], 3 * static_cast<float>(factor));
  EXPECT_EQ(b[1], -1.75);
}

TEST(Clip, T_40_clipping_gives_the_same_bits_with_any_number_of_threads) {
  std::vector<float> start(100003);
  for (std::size_t i = 0; i < start.size(); ++i) start[i] = static_cast<float>(i * 7919 % 1000) / 300.0f - 1.6f;
  test::Machine one(1), three(3);
  const test::ExpectDivided divided(3);
  std::vector<float> a = start, b = start;
  const std::vector<Tensor> ga = {test::row_of(a)}, gb = {test::row_of(b)};
  EXPECT_EQ(clip_norm(one.exec, ga, 3).value(), clip_norm(three.exec, gb, 3).value());
  ASSERT_TRUE(clip_value(one.exec, ga, 0.01));
  ASSERT_TRUE(clip_value(three.exec, gb, 0.01));
  EXPECT_EQ(a, b);
}

TEST(Clip, T_04_what_is_not_finite_stays_to_be_seen) {
  test::Machine m;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> a = {nan, 2, -2};
  const std::vector<Tensor> g = {test::row_of(a)};
  EXPECT_TRUE(std::isnan(clip_norm(m.exec, g, 1).value()));
  EXPECT_EQ(a[1], 2.0f);
  ASSERT_TRUE(clip_value(m.exec, g, 1));
  EXPECT_TRUE(std::isnan(a[0]));
  EXPECT_EQ(a[2], -1.0f);
  for (const double bad : {-1.0, static_cast<double>(nan), std::numeric_limits<double>::infinity()}) {
    EXPECT_FALSE(clip_value(m.exec, g, bad));
    EXPECT_FALSE(clip_norm(m.exec, g, bad));
  }
}

}  // namespace
}  // namespace loom
