#include "layers/golden_test.h"
#include "layers/running_test.h"

namespace loom {
namespace {

// L-90
TEST(Layernorm, equals_pytorch) { expect_goldens("layernorm"); }

// L-90
TEST(Layernorm, eps_from_0_to_1) { test::expect_share(R"("type":"layernorm","input_height":4)", "eps"); }

}  // namespace
}  // namespace loom
