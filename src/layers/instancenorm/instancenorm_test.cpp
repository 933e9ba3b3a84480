#include "layers/golden_test.h"
#include "layers/running_test.h"

namespace loom {
namespace {

TEST(Instancenorm, L_02_equals_pytorch) { expect_goldens("instancenorm/instancenorm"); }

TEST(Instancenorm, L_90_eps_from_0_to_1) { test::expect_share(R"("type":"instancenorm","input_height":4)", "eps"); }

}  // namespace
}  // namespace loom
