#include <algorithm>
#include <cmath>
#include <limits>

#include "layers/golden_test.h"
#include "layers/running_test.h"

namespace loom {
namespace {

// L-120
TEST(Softmax, equals_pytorch) { expect_goldens("softmax"); }

TEST(Softmax, gumbel_draws_by_step_and_hard_is_one_hot) {  // L-120
  const Shape shape = Shape::of({50, 20});
  const std::vector<float> x(1000, 0.5f);
  const auto r = test::running(R"({"type":"softmax","softmax_type":"gumbel","gumbel_hard":true})", shape).value();
  PassExtras extras;
  const std::vector<float> first = test::values(*r.session->forward({x.data(), shape}, extras));
  EXPECT_EQ(std::count(first.begin(), first.end(), 1.0f), 50);
  EXPECT_EQ(std::count(first.begin(), first.end(), 0.0f), 950);
  EXPECT_EQ(test::values(*r.session->forward({x.data(), shape}, extras)), first);
  extras.step = 1;
  EXPECT_NE(test::values(*r.session->forward({x.data(), shape}, extras)), first);
}

TEST(Softmax, every_distribution_sums_to_one) {  // L-121
  const std::pair<const char*, std::size_t> specs[] = {
      {R"({"type":"softmax"})", 48},
      {R"({"type":"softmax","softmax_type":"SoftmaxTemperature","temperature":0.3})", 48},
      {R"({"type":"softmax","softmax_type":"hierarchical","hierarchy_mode":"tree","hierarchy_levels":[3,5,2]})", 48},
      {R"({"type":"softmax","softmax_type":4})", 48},
      {R"({"type":"softmax","softmax_type":"sparse"})", 48},
      {R"({"type":"softmax","softmax_type":"adaptive","adaptive_cutoffs":[4,21,46]})", 48},
      {R"({"type":"softmax","softmax_type":"mixture","mixture_count":3})", 48},
      {R"({"type":"softmax","softmax_type":"entmax"})", 48},
      {R"({"type":"softmax","softmax_type":"entmax","entmax_alpha":3.3})", 48},
      {R"({"type":"softmax","softmax_type":"entmax","entmax_alpha":1.3,"entmax_mode":"blend"})", 48},
  };
  const RandomStream stream{5, RandomDomain::Init, 0, 1};
  std::vector<float> x(16 * 48);
  // rows far from 0 too
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 4.0f * stream.uniform(i) + static_cast<float>(i / 48) * 100.0f;
  for (const auto& [spec, width] : specs) {
    const Shape shape = Shape::of({16, width});
    auto made = test::running(spec, shape);
    ASSERT_TRUE(made) << spec << made.error().text();
    const auto y = made->session->forward({x.data(), shape});
    ASSERT_TRUE(y) << spec;
    const std::size_t n = y->shape.cols();
    for (std::size_t r = 0; r < 16; ++r) {
      double sum = 0;
      for (std::size_t i = 0; i < n; ++i) sum += static_cast<double>(y->as()[r * n + i]);
      EXPECT_NEAR(sum, 1.0, 4 * 0x1p-23 * static_cast<double>(n)) << spec << " row " << r;
    }
  }
}

TEST(Softmax, a_row_with_a_nan_stays_alone) {  // L-120
  const Shape shape = Shape::of({2, 4});
  const float nan = std::numeric_limits<float>::quiet_NaN(), x[] = {1, nan, 2, 3, 1, 2, 3, 4};
  for (const char* spec : {R"({"type":"softmax"})", R"({"type":"softmax","softmax_type":"sparse"})",
                           R"({"type":"softmax","softmax_type":"entmax"})",
                           R"({"type":"softmax","softmax_type":"entmax","entmax_alpha":1.2})"}) {
    const auto r = test::running(spec, shape).value();
    const std::vector<float> y = test::values(*r.session->forward({x, shape}));
    for (std::size_t i = 0; i < 4; ++i) EXPECT_TRUE(std::isnan(y[i])) << spec;
    for (std::size_t i = 4; i < 8; ++i) EXPECT_FALSE(std::isnan(y[i])) << spec;
  }
}

TEST(Softmax, shapes_and_settings_that_do_not_fit_are_errors) {  // L-120
  test::expect_refused(R"({"type":"softmax","temperature":-1})", Code::InvalidConfig, Shape::of({2, 3, 4}));
  test::expect_refused(R"({"type":"softmax","softmax_type":"softest"})", Code::UnknownName, Shape::of({2, 3, 4}));
  test::expect_refused(R"({"type":"softmax","softmax_type":"masked","mask":[true,true,true,true,true]})",
                       Code::ShapeMismatch, Shape::of({2, 3, 4}));
  test::expect_refused(R"({"type":"softmax","softmax_type":"grid","softmax_rows":3,"softmax_cols":2})",
                       Code::ShapeMismatch, Shape::of({2, 3, 4}));
  test::expect_refused(R"({"type":"softmax","softmax_type":"adaptive","adaptive_cutoffs":[3,3]})", Code::InvalidConfig,
                       Shape::of({2, 3, 4}));
  test::expect_refused(R"({"type":"softmax","softmax_type":"mixture","mixture_count":3})", Code::ShapeMismatch,
                       Shape::of({2, 3, 4}));
  test::expect_refused(R"({"type":"softmax","softmax_type":"entmax","entmax_alpha":4.5})", Code::InvalidConfig,
                       Shape::of({2, 3, 4}));
  test::expect_refused(
      R"({"type":"softmax","softmax_type":"hierarchical","hierarchy_levels":[2147483647,2147483647,2147483647]})",
      Code::SizeOverflow, Shape::of({2, 3, 4}));
}

}  // namespace
}  // namespace loom
