#include "layers/golden_test.h"

namespace loom {
namespace {

TEST(Conv, L_02_equals_pytorch) { expect_goldens("conv/conv"); }

}  // namespace
}  // namespace loom
