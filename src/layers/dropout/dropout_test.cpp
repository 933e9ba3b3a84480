#include <algorithm>

#include "layers/running_test.h"

namespace loom {
namespace {

TEST(Dropout, keeps_its_mask_in_backward_and_is_identity_otherwise) {  // L-112
  const Shape shape = Shape::of({40, 25});
  const auto r = test::running(R"({"type":"dropout","rate":0.25})", shape).value();
  const std::vector<float> ones(1000, 1.0f);
  PassExtras extras;
  EXPECT_EQ(test::values(*r.session->forward({ones.data(), shape}, extras)), ones);
  extras.training = true;
  const std::vector<float> y = test::values(*r.session->forward({ones.data(), shape}, extras));
  EXPECT_EQ(test::values(*r.session->backward({ones.data(), shape})), y);
  const auto dropped = std::count(y.begin(), y.end(), 0.0f);
  EXPECT_GT(dropped, 200);
  EXPECT_LT(dropped, 300);
  EXPECT_EQ(std::count(y.begin(), y.end(), 1.0f / 0.75f), 1000 - dropped);
  EXPECT_EQ(test::values(*r.session->forward({ones.data(), shape}, extras)), y) << "same step";
  extras.step = 1;
  EXPECT_NE(test::values(*r.session->forward({ones.data(), shape}, extras)), y) << "another step";
}

TEST(Dropout, shapes_and_settings_that_do_not_fit_are_errors) {  // L-112
  test::expect_refused(R"({"type":"dropout","rate":1})", Code::InvalidConfig, Shape::of({2, 3, 4}));
}

}  // namespace
}  // namespace loom
