#include "layers/golden_test.h"

namespace loom {
namespace {

TEST(Pool, L_02_equals_pytorch) { expect_goldens("pool/pool"); }

}  // namespace
}  // namespace loom
