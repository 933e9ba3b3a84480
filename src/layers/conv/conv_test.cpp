#include "layers/golden_test.h"

namespace loom {
namespace {

// L-02
TEST(Conv, equals_pytorch) { expect_goldens("conv"); }

}  // namespace
}  // namespace loom
