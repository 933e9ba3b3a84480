#include "layers/golden_test.h"
#include "layers/running_test.h"

namespace loom {
namespace {

TEST(Kmeans, L_02_equals_pytorch) { expect_goldens("kmeans/kmeans"); }

TEST(Kmeans, L_02_shapes_and_settings_that_do_not_fit_are_errors) {
  test::expect_refused(R"({"type":"kmeans","num_clusters":2,"input_height":5})", Code::ShapeMismatch,
                       Shape::of({2, 3, 4}));
}

}  // namespace
}  // namespace loom
