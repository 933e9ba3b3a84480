#include "layers/golden_test.h"

namespace loom {
namespace {

// L-02
TEST(Dense, equals_pytorch) { expect_goldens("dense"); }

}  // namespace
}  // namespace loom
