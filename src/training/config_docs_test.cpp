// docs/guide/training.md lists every key that a config may have, each with its default and its meaning, as the schema
// has them; and no others.

#include <gtest/gtest.h>

#include "support/key_tables.h"
#include "support/schema_check.h"
#include "training/train_config.h"

namespace loom {
namespace {

TEST(ConfigDocs, every_key_stands_in_the_manual_with_its_default) {  // T-01
  test::expect_documented(train_schema(), "docs/guide/training.md", 100);
  test::expect_described(train_schema());
}

TEST(ConfigDocs, every_shipped_training_fits_the_schema_and_what_the_reader_refuses_does_not) {  // T-01
  const Json schema = train_schema();
  const auto fits = [&](const char* text) { return test::SchemaCheck(schema).fits(parse_json(text).value(), schema); };
  EXPECT_GE(test::expect_examples_fit(schema, "examples/training",
                                      [](const Json& file) { return find(file, "data") != nullptr; }),
            5u);
  EXPECT_TRUE(fits(
      R"({"network":"n.json","data":{"format":"csv","normalise":"mean_std"},"loss":"mse","optimizer":{"name":"adam","eps":null},"mixed":"bf16"})"));
  for (const char* refused :
       {R"({"data":{"format":"csv"}})", R"({"network":{},"data":{"format":"csv","limits":3}})",
        R"({"network":{},"data":{},"epochs":0})", R"({"network":{},"data":{},"optimizer":{"betta1":0.9}})",
        R"({"network":{},"data":{},"clip_norm":-1})", R"({"network":{},"data":{},"early_stop":{"metric":"f1"}})"})
    EXPECT_FALSE(fits(refused)) << refused;
}

}  // namespace
}  // namespace loom
