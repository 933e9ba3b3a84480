#include "layers/golden_test.h"
#include "layers/running_test.h"

namespace loom {
namespace {

// L-90
TEST(Rmsnorm, equals_pytorch) { expect_goldens("rmsnorm"); }

// L-90
TEST(Rmsnorm, eps_from_0_to_1) { test::expect_share(R"("type":"rmsnorm","input_height":4)", "rms_norm_eps"); }

}  // namespace
}  // namespace loom
