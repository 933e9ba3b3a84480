#include <limits>

#include "layers/golden_test.h"
#include "layers/running_test.h"

namespace loom {
namespace {

// L-02
TEST(Embedding, equals_pytorch) { expect_goldens("embedding"); }

TEST(Embedding, an_id_outside_the_table_is_an_error_with_its_row) {  // L-100
  const Shape shape = Shape::of({3});
  for (const float bad :
       {5.0f, -1.0f, 1.5f, 3e9f, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const float ids[] = {0, bad, 4};
    const auto strict = test::running(R"({"type":"embedding","vocab_size":5,"embedding_dim":3})", shape).value();
    const auto y = strict.session->forward({ids, shape});
    ASSERT_FALSE(y) << bad;
    EXPECT_EQ(y.error().code, Code::IndexOutOfRange);
    EXPECT_NE(y.error().text().find("row 1"), std::string::npos) << y.error().text();

    const auto lenient =
        test::running(R"({"type":"embedding","vocab_size":5,"embedding_dim":3,"oob":"zero"})", shape).value();
    const auto zero = lenient.session->forward({ids, shape});
    ASSERT_TRUE(zero);
    for (std::size_t i = 3; i < 6; ++i) EXPECT_EQ(zero->as()[i], 0.0f);
    EXPECT_NE(zero->as()[0], 0.0f);
  }
}

}  // namespace
}  // namespace loom
