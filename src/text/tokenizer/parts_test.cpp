// Small tokenizer.json files give the ids and texts of the tokenizers package: tests/golden/tokenizers/parts.json, made
// by tools/golden/tokenizer_parts.py.

#include "core/json.h"
#include "support/paths.h"
#include "text/tokenizer/test_data.h"

namespace loom::text::parts_test {
namespace {

TEST(TokenizerParts, X_01_give_the_ids_and_texts_of_the_tokenizers_package) {
  const Json cases =
      fixtures::value_of(parse_json(fixtures::read_file(test::source_path("tests/golden/tokenizers/parts.json"))));
  EXPECT_GT(cases.size(), 15u);
  for (const Json& c : cases) {
    const std::string& title = *as_string(c["title"]);
    const auto tokenizer = Tokenizer::from_json(dump_json(c["tokenizer"]));
    ASSERT_TRUE(tokenizer) << title << ": " << tokenizer.error().text();
    std::vector<std::int32_t> ids;
    const auto encoded = tokenizer->encode(*as_string(c["text"]), {.add_special_tokens = false}, ids);
    if (c["ids"].is_null()) {
      EXPECT_FALSE(encoded) << title;
      continue;
    }
    ASSERT_TRUE(encoded) << title << ": " << encoded.error().text();
    EXPECT_EQ(Json(ids), c["ids"]) << title;
    EXPECT_EQ(tokenizer->decode(ids), *as_string(c["decoded"])) << title;
  }
}

}  // namespace
}  // namespace loom::text::parts_test
