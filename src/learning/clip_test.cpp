#include "learning/clip.h"

#include <cmath>

#include "learning/test_data.h"

namespace loom {
namespace {

// The norm that clip_norm() found.
Result<double> clipped(const Exec& exec, std::span<const Tensor> gradients, double limit) {
  Figures figures;
  const Element element = gradients.empty() ? Element::f32 : gradients[0].element;
  const Tensor clip = figures.take(1, kClipFigures, element).value();
  LOOM_TRY_VOID(clip_norm(exec, gradients, limit, clip));
  return norm_of(figures, clip);
}

template <class T>
void expect_clipped() {
  test::Machine m;
  std::vector<T> a = {3, 0, 0}, b = {0, -4};
  const std::vector<Tensor> g = {test::row_of(a), test::row_of(b)};
  EXPECT_EQ(clipped(m.exec, g, 0).value(), 5.0);
  EXPECT_EQ(clipped(m.exec, g, 5).value(), 5.0);
  EXPECT_EQ(a, (std::vector<T>{3, 0, 0}));
  EXPECT_EQ(clipped(m.exec, g, 2.5).value(), 5.0);
  const T factor = T(2.5) / (T(5) + T(1e-6));
  EXPECT_EQ(a[0], 3 * factor);
  EXPECT_EQ(b[1], -4 * factor);
  ASSERT_TRUE(clip_value(m.exec, g, 1.75));
  EXPECT_EQ(a[0], 3 * factor);
  EXPECT_EQ(b[1], T(-1.75));
}

TEST(Clip, the_norm_is_over_all_tensors_and_clips_before_the_value) {  // T-40
  expect_clipped<float>();
  expect_clipped<double>();
}

TEST(Clip, clipping_gives_the_same_bits_with_any_number_of_threads) {  // T-40
  std::vector<float> start(100003);
  for (std::size_t i = 0; i < start.size(); ++i) start[i] = static_cast<float>(i * 7919 % 1000) / 300.0f - 1.6f;
  test::Machine one(1), three(3);
  const test::ExpectDivided divided(3);
  std::vector<float> a = start, b = start;
  const std::vector<Tensor> ga = {test::row_of(a)}, gb = {test::row_of(b)};
  EXPECT_EQ(clipped(one.exec, ga, 3).value(), clipped(three.exec, gb, 3).value());
  ASSERT_TRUE(clip_value(one.exec, ga, 0.01));
  ASSERT_TRUE(clip_value(three.exec, gb, 0.01));
  EXPECT_EQ(a, b);
}

// Squares of these leave f32, their norm does not; with the largest the factor of the clipping would be subnormal.
TEST(Clip, gradients_whose_squares_f32_cannot_hold_are_clipped) {  // T-40
  for (const float huge : {1e20f, 1e25f, 3e38f}) {
    test::Machine m;
    std::vector<float> a = {huge, -huge / 2, 1}, b = {3, huge};
    const std::vector<Tensor> g = {test::row_of(a), test::row_of(b)};
    const double want = 1.5 * static_cast<double>(huge);
    // a sum, a root and the rounding of each
    EXPECT_NEAR(clipped(m.exec, g, 0.1).value(), want, 4 * 6e-8 * want) << huge;
    EXPECT_NEAR(a[0], 0.1 / 1.5, 1e-7) << huge;
    EXPECT_NEAR(a[1], -0.05 / 1.5, 1e-7) << huge;
    EXPECT_NEAR(b[1], 0.1 / 1.5, 1e-7) << huge;
    EXPECT_EQ(b[0], a[2]) << "what is small beside them is nothing";
  }
}

TEST(Clip, no_gradients_have_the_norm_0) {  // T-40
  test::Machine m;
  EXPECT_EQ(clipped(m.exec, {}, 1).value(), 0.0);
  std::vector<float> none;
  const std::vector<Tensor> g = {test::row_of(none)};
  EXPECT_EQ(clipped(m.exec, g, 1).value(), 0.0);
}

// Each norm fits into f32, the square of one does not.
TEST(Clip, norms_of_f32_whose_squares_overflow_together) {  // T-40
  test::Machine m;
  std::vector<float> a = {3e18f}, b = {-4e19f}, none(2000, 1.0f);
  const std::vector<Tensor> g = {test::row_of(a), test::row_of(none), test::row_of(b)};
  const double want = std::hypot(3e18, 4e19);
  EXPECT_NEAR(clipped(m.exec, g, 1e30).value(), want, 1e-6 * want);
  EXPECT_EQ(a[0], 3e18f) << "below the limit";
  EXPECT_NEAR(clipped(m.exec, g, 1e19).value(), want, 1e-6 * want);
  EXPECT_NEAR(b[0], -4e19 * 1e19 / want, 1e13);
}

TEST(Clip, the_norm_of_small_gradients_is_not_0) {  // T-40
  test::Machine m;
  std::vector<float> a(5000, 0x1p-45f);
  const std::vector<Tensor> g = {test::row_of(a)};
  EXPECT_NEAR(clipped(m.exec, g, 0).value(), std::sqrt(5000.0) * 0x1p-45, 1e-6 * std::sqrt(5000.0) * 0x1p-45);
}

template <class T>
void expect_one_norm(double bound) {
  std::vector<T> x(100003);
  double squares = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<T>(i * 7919 % 1000) / 300 - T(1.6);
    squares += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  }
  const std::vector<Tensor> g = {test::row_of(x)};
  const test::ExpectDivided divided(3);
  std::optional<double> first;
  for (const Isa isa : usable_isas())
    for (const int threads : {1, 3}) {
      test::Machine m(threads);
      const double norm = clipped({*m.pool, *kernels_for(isa).value(), m.arena}, g, 0).value();
      EXPECT_NEAR(norm, std::sqrt(squares), bound * std::sqrt(squares));
      EXPECT_EQ(norm, first.value_or(norm)) << name(isa) << ", " << threads << " threads";
      first = norm;
    }
}

// In f32 a lane adds blocks of 64 terms and 98 blocks of them: below 170 roundings of half an ulp, halved by the root.
TEST(Clip, the_norm_has_the_same_bits_on_every_instruction_set_with_any_number_of_threads) {  // N-01
  expect_one_norm<float>(85 * 6e-8);
  expect_one_norm<double>(1e-13);
}

TEST(Clip, what_is_not_finite_stays_to_be_seen) {  // T-04
  test::Machine m;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> a = {nan, 2, -2};
  const std::vector<Tensor> g = {test::row_of(a)};
  EXPECT_TRUE(std::isnan(clipped(m.exec, g, 1).value()));
  EXPECT_EQ(a[1], 2.0f);
  ASSERT_TRUE(clip_value(m.exec, g, 1));
  EXPECT_TRUE(std::isnan(a[0]));
  EXPECT_EQ(a[2], -1.0f);
  for (const double bad : {-1.0, static_cast<double>(nan), std::numeric_limits<double>::infinity()}) {
    EXPECT_FALSE(clip_value(m.exec, g, bad));
    EXPECT_FALSE(clipped(m.exec, g, bad));
  }
}

}  // namespace
}  // namespace loom
