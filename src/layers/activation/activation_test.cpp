#include "layers/golden_test.h"

namespace loom {
namespace {

// L-10
TEST(Activation, equals_pytorch) { expect_goldens("activation"); }

}  // namespace
}  // namespace loom
