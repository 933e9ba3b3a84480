#include "layers/golden_test.h"

namespace loom {
namespace {

TEST(Activation, L_10_equals_pytorch) { expect_goldens("activation/activation"); }

}  // namespace
}  // namespace loom
