#include "layers/golden_test.h"
#include "layers/running_test.h"

namespace loom {
namespace {

// L-02
TEST(Mha, equals_pytorch) { expect_goldens("mha"); }

// L-90
TEST(Mha, eps_from_0_to_1) { test::expect_share(R"("type":"mha","d_model":4,"num_heads":1)", "rms_norm_eps"); }

}  // namespace
}  // namespace loom
