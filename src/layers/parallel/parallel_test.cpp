#include "layers/golden_test.h"

namespace loom {
namespace {

TEST(Parallel, V_33_V_35_equals_pytorch) { expect_goldens("parallel/parallel"); }

}  // namespace
}  // namespace loom
