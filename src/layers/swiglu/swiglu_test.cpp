#include "layers/golden_test.h"
#include "layers/running_test.h"

namespace loom {
namespace {

// L-02
TEST(Swiglu, equals_pytorch) { expect_goldens("swiglu"); }

TEST(Swiglu, eps_from_0_to_1) {  // L-90
  test::expect_share(R"("type":"swiglu","input_height":4,"output_height":3)", "rms_norm_eps");
}

}  // namespace
}  // namespace loom
