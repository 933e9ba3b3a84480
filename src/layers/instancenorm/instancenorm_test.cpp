#include "layers/golden_test.h"
#include "layers/running_test.h"

namespace loom {
namespace {

// L-02
TEST(Instancenorm, equals_pytorch) { expect_goldens("instancenorm"); }

// L-90
TEST(Instancenorm, eps_from_0_to_1) { test::expect_share(R"("type":"instancenorm","input_height":4)", "eps"); }

}  // namespace
}  // namespace loom
