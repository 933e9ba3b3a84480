#include "layers/running_test.h"

namespace loom {
namespace {

TEST(Reshape, shapes_and_settings_that_do_not_fit_are_errors) {  // L-111
  test::expect_refused(R"({"type":"reshape","shape":[5,-1]})", Code::ShapeMismatch, Shape::of({2, 3, 4}));
  test::expect_refused(R"({"type":"reshape","shape":[2,0,0,0]})", Code::ShapeMismatch, Shape::of({2, 3, 4}));
  test::expect_refused(R"({"type":"reshape","shape":[-1,-1]})", Code::InvalidConfig, Shape::of({2, 3, 4}));
  test::expect_refused(R"({"type":"reshape","shape":[-2]})", Code::InvalidConfig, Shape::of({2, 3, 4}));
}

}  // namespace
}  // namespace loom
