#include "layers/golden_test.h"
#include "layers/running_test.h"

namespace loom {
namespace {

TEST(Groupnorm, L_02_equals_pytorch) { expect_goldens("groupnorm/groupnorm"); }

TEST(Groupnorm, L_90_eps_from_0_to_1) {
  test::expect_share(R"("type":"groupnorm","input_height":4,"num_groups":2)", "eps");
}

}  // namespace
}  // namespace loom
