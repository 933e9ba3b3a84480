#include "layers/golden_test.h"
#include "layers/running_test.h"

namespace loom {
namespace {

TEST(Batchnorm, L_92_equals_pytorch) { expect_goldens("batchnorm/batchnorm"); }

TEST(Batchnorm, L_90_eps_and_momentum_from_0_to_1) {
  test::expect_share(R"("type":"batchnorm","input_height":4)", "eps");
  test::expect_share(R"("type":"batchnorm","input_height":4)", "momentum");
}

}  // namespace
}  // namespace loom
