#include "layers/golden_test.h"
#include "layers/running_test.h"

namespace loom {
namespace {

TEST(Mha, L_02_equals_pytorch) { expect_goldens("mha/mha"); }

TEST(Mha, L_90_eps_from_0_to_1) { test::expect_share(R"("type":"mha","d_model":4,"num_heads":1)", "rms_norm_eps"); }

}  // namespace
}  // namespace loom
