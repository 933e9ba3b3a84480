#include "layers/golden_test.h"
#include "layers/running_test.h"

namespace loom {
namespace {

// L-02
TEST(PositionEmbedding, equals_pytorch) { expect_goldens("position_embedding"); }

TEST(PositionEmbedding, shapes_and_settings_that_do_not_fit_are_errors) {  // L-02
  test::expect_refused(R"({"type":"position_embedding","max_seq_len":2,"embedding_dim":4})", Code::ShapeMismatch,
                       Shape::of({2, 3, 4}));
}

}  // namespace
}  // namespace loom
