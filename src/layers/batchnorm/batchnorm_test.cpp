#include "layers/golden_test.h"
#include "layers/running_test.h"

namespace loom {
namespace {

// L-92
TEST(Batchnorm, equals_pytorch) { expect_goldens("batchnorm"); }

TEST(Batchnorm, eps_and_momentum_from_0_to_1) {  // L-90
  test::expect_share(R"("type":"batchnorm","input_height":4)", "eps");
  test::expect_share(R"("type":"batchnorm","input_height":4)", "momentum");
}

}  // namespace
}  // namespace loom
