#include "layers/golden_test.h"

namespace loom {
namespace {

// V-30
TEST(Sequential, equals_pytorch) { expect_goldens("sequential"); }

}  // namespace
}  // namespace loom
