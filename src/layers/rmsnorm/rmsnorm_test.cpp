#include "layers/golden_test.h"
#include "layers/running_test.h"

namespace loom {
namespace {

TEST(Rmsnorm, L_90_equals_pytorch) { expect_goldens("rmsnorm/rmsnorm"); }

TEST(Rmsnorm, L_90_eps_from_0_to_1) { test::expect_share(R"("type":"rmsnorm","input_height":4)", "rms_norm_eps"); }

}  // namespace
}  // namespace loom
