#include "layers/golden_test.h"
#include "layers/running_test.h"

namespace loom {
namespace {

TEST(Swiglu, L_02_equals_pytorch) { expect_goldens("swiglu/swiglu"); }

TEST(Swiglu, L_90_eps_from_0_to_1) {
  test::expect_share(R"("type":"swiglu","input_height":4,"output_height":3)", "rms_norm_eps");
}

}  // namespace
}  // namespace loom
