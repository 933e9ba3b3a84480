#include "layers/running_test.h"

namespace loom {
namespace {

TEST(Permute, shapes_and_settings_that_do_not_fit_are_errors) {  // L-111
  test::expect_refused(R"({"type":"permute","axes":[0,1]})", Code::ShapeMismatch, Shape::of({2, 3, 4}));
  test::expect_refused(R"({"type":"permute","axes":[0,1,1]})", Code::InvalidConfig, Shape::of({2, 3, 4}));
}

}  // namespace
}  // namespace loom
