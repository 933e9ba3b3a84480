#include "layers/golden_test.h"

namespace loom {
namespace {

TEST(Sequential, V_30_equals_pytorch) { expect_goldens("sequential/sequential"); }

}  // namespace
}  // namespace loom
