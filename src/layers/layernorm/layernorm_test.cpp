#include "layers/golden_test.h"
#include "layers/running_test.h"

namespace loom {
namespace {

TEST(Layernorm, L_90_equals_pytorch) { expect_goldens("layernorm/layernorm"); }

TEST(Layernorm, L_90_eps_from_0_to_1) { test::expect_share(R"("type":"layernorm","input_height":4)", "eps"); }

}  // namespace
}  // namespace loom
