#include "layers/golden_test.h"

namespace loom {
namespace {

TEST(Dense, L_02_equals_pytorch) { expect_goldens("dense/dense"); }

}  // namespace
}  // namespace loom
