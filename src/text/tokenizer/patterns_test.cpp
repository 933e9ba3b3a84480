// Patterns cut texts as in the tokenizers package: tests/golden/tokenizers/patterns.json, made by
// tools/golden/patterns.py.

#include "core/json.h"
#include "support/paths.h"
#include "text/tokenizer/pre_tokenizer.h"
#include "text/tokenizer/test_data.h"

namespace loom::text::patterns_test {
namespace {

Result<Json> pieces_of(const std::vector<PreTokenizerPtr>& steps, const std::string& text) {
  Words words;
  words.text = text;
  words.spans.assign(1, {0, text.size()});
  for (const auto& step : steps) LOOM_TRY_VOID(step->apply(words));
  Json out = Json::array();
  for (const Span& s : words.spans) out.push_back(std::string(words.text.substr(s.begin, s.end - s.begin)));
  return out;
}

Result<void> compile(const std::string& pattern, std::vector<PreTokenizerPtr>& steps) {
  const Json split = {{"type", "Split"}, {"pattern", {{"Regex", pattern}}}, {"behavior", "Isolated"}};
  return pre_tokenizers_from_json(split, steps, nullptr);
}

TEST(Patterns, cut_texts_as_the_tokenizers_package_does) {
  const Json golden =
      fixtures::value_of(parse_json(fixtures::read_file(test::source_path("tests/golden/tokenizers/patterns.json"))));
  std::size_t over_budget = 0;
  for (const Json& row : golden["patterns"]) {
    const std::string& pattern = *as_string(row[0]);
    std::vector<PreTokenizerPtr> steps;
    const auto compiled = compile(pattern, steps);
    if (row[1].is_null()) {
      EXPECT_FALSE(compiled) << pattern;
      continue;
    }
    ASSERT_TRUE(compiled) << pattern << ": " << compiled.error().text();
    for (std::size_t i = 0; i < golden["texts"].size(); ++i) {
      const auto pieces = pieces_of(steps, *as_string(golden["texts"][i]));
      if (!pieces && pieces.error().code == Code::LimitExceeded) {  // the package gives up later, and panics
        ++over_budget;
        continue;
      }
      ASSERT_TRUE(pieces) << pattern << ": " << pieces.error().text();
      EXPECT_EQ(*pieces, row[1][i]) << pattern << " on text " << i;
    }
  }
  EXPECT_GT(golden["patterns"].size(), 650u);
  EXPECT_LT(over_budget, 10u);
}

TEST(Patterns, what_is_not_supported_is_refused_by_name) {
  const Json golden =
      fixtures::value_of(parse_json(fixtures::read_file(test::source_path("tests/golden/tokenizers/patterns.json"))));
  for (const Json& pattern : golden["unsupported"]) {
    std::vector<PreTokenizerPtr> steps;
    const auto compiled = compile(*as_string(pattern), steps);
    ASSERT_FALSE(compiled) << pattern;
    EXPECT_NE(compiled.error().text().find("is not supported"), std::string::npos) << compiled.error().text();
  }
}

}  // namespace
}  // namespace loom::text::patterns_test
