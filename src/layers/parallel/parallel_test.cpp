#include "layers/golden_test.h"

namespace loom {
namespace {

// V-33, V-35
TEST(Parallel, equals_pytorch) { expect_goldens("parallel"); }

}  // namespace
}  // namespace loom
