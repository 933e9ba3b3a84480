#include "layers/halving/halving.h"

#include <gtest/gtest.h>

namespace loom {
namespace {

TEST(Halving, keeps_the_shape) {
  EXPECT_EQ(Halving().output_shape(Shape::of({2, 3})).value(), Shape::of({2, 3}));
  EXPECT_EQ(Halving().kind(), "halving");
}

}  // namespace
}  // namespace loom
