#include "layers/golden_test.h"

namespace loom {
namespace {

// L-02
TEST(Pool, equals_pytorch) { expect_goldens("pool"); }

}  // namespace
}  // namespace loom
