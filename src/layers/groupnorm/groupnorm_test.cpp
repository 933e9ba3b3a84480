#include "layers/golden_test.h"
#include "layers/running_test.h"

namespace loom {
namespace {

// L-02
TEST(Groupnorm, equals_pytorch) { expect_goldens("groupnorm"); }

TEST(Groupnorm, eps_from_0_to_1) {  // L-90
  test::expect_share(R"("type":"groupnorm","input_height":4,"num_groups":2)", "eps");
}

}  // namespace
}  // namespace loom
