#include "layers/golden_test.h"
#include "layers/running_test.h"

namespace loom {
namespace {

// L-02
TEST(Kmeans, equals_pytorch) { expect_goldens("kmeans"); }

TEST(Kmeans, shapes_and_settings_that_do_not_fit_are_errors) {  // L-02
  test::expect_refused(R"({"type":"kmeans","num_clusters":2,"input_height":5})", Code::ShapeMismatch,
                       Shape::of({2, 3, 4}));
}

}  // namespace
}  // namespace loom
