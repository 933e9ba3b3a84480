// Patterns, tokenizer files and JSON in a thread with little stack.

#include <gtest/gtest.h>

#include "core/json.h"
#include "support/repeat.h"
#include "support/small_stack.h"
#include "text/regex/regex.h"
#include "text/tokenizer/tokenizer.h"

namespace loom::text {
namespace {

using test::on_small_stack;
using test::repeat;

// Returns the number of matches, or the error.
std::string outcome_of(const std::string& pattern, const std::string& text) {
  const auto regex = Regex::compile(pattern);
  if (!regex) return regex.error().text();
  RegexMatcher matcher(*regex, text);
  Match m;
  for (int count = 0;; ++count) {
    const auto found = matcher.next(m);
    if (!found) return found.error().text();
    if (!*found) return std::to_string(count);
  }
}

TEST(SmallStack, patterns_that_nest_deeply_end_in_an_error) {  // X-01, F-01
  for (const int n : {10, 31, 62, 63, 64, 65, 5000})
    for (const std::string& pattern :
         {repeat(n, "(") + "a" + repeat(n, ")"), repeat(n, "(?:") + "a" + repeat(n, "|b)"),
          repeat(n, "(?:b|") + "a" + repeat(n, ")"), repeat(n, "(?>") + "a" + repeat(n, ")"),
          repeat(n, "(?=") + "a" + repeat(n, ")"), repeat(n, "(?!") + "a" + repeat(n, ")"),
          repeat(n, "(?:x") + "a" + repeat(n, ")*"), repeat(n, "(?:") + "ab" + repeat(n, ")?"),
          repeat(n, "(?:") + "ab" + repeat(n, ")+?"), repeat(n, "(?:") + "a" + repeat(n, "{0,1}b)"),
          repeat(n, "(?:") + "ab" + repeat(n, ")?+"), repeat(n, "(?i)") + "a",
          repeat(n, "(?:") + "ab" + repeat(n, ")????"), repeat(n, "(?i:") + "a" + repeat(n, ")"),
          repeat(n, "[") + "a" + repeat(n, "]"), repeat(n, "[^") + "a" + repeat(n, "]"),
          repeat(n, "[a-z&&") + "a" + repeat(n, "]"), repeat(n, "[a&&[") + "a" + repeat(n, "]]")}) {
      std::string small;
      on_small_stack([&] { small = outcome_of(pattern, "abab xaab"); });
      const std::string large = outcome_of(pattern, "abab xaab");
      EXPECT_TRUE(small == large || small == "pattern is nested deeper than the stack of this thread allows")
          << pattern.substr(0, 80) << " x " << n << ": " << small;
      if (n == 10) {
        EXPECT_EQ(small, large) << pattern;
      }
    }
}

TEST(SmallStack, tokenizers_that_nest_as_deeply_as_they_may_have_room) {  // X-01, F-01
  const std::string model = R"("model":{"type":"BPE","vocab":{"a":0,"b":1},"merges":[]})";
  for (const int n : {5, 31, 32, 33, 100})
    for (const std::string& part :
         {"\"normalizer\":" + repeat(n, R"({"type":"Sequence","normalizers":[)") + R"({"type":"NFC"})" +
              repeat(n, "]}"),
          "\"pre_tokenizer\":" + repeat(n, R"({"type":"Sequence","pretokenizers":[)") +
              R"({"type":"WhitespaceSplit"})" + repeat(n, "]}"),
          "\"decoder\":" + repeat(n, R"({"type":"Sequence","decoders":[)") + R"({"type":"Fuse"})" + repeat(n, "]}"),
          "\"post_processor\":" + repeat(n, R"({"type":"Sequence","processors":[)") + R"({"type":"ByteLevel"})" +
              repeat(n, "]}")}) {
      const std::string file = "{" + part + "," + model + "}";
      const auto outcome = [&]() -> std::string {
        const auto t = Tokenizer::from_json(file);
        if (!t) return t.error().text();
        std::vector<std::int32_t> ids;
        const auto r = t->encode("ab ba", {}, ids);
        return r ? std::to_string(ids.size()) + t->decode(ids) : r.error().text();
      };
      std::string small;
      on_small_stack([&] { small = outcome(); });
      EXPECT_EQ(small, outcome()) << part.substr(0, 60) << " x " << n;
    }
}

TEST(SmallStack, json_that_nests_as_deeply_as_it_may_has_room) {  // J-23
  for (const int n : {200, 256, 257, 100000})
    for (const std::string& text : {repeat(n, "[") + repeat(n, "]"), repeat(n, "{\"k\":") + "1" + repeat(n, "}"),
                                    repeat(n, "[{\"k\":") + "1" + repeat(n, "}]")}) {
      const auto outcome = [&]() -> std::string {
        const auto json = parse_json(text);
        if (!json) return json.error().text();
        const Json copy = *json;
        const auto canonical = dump_canonical(copy);
        return dump_json(copy) + (canonical ? *canonical : canonical.error().text()) +
               (copy == *json ? "equal" : "different");
      };
      std::string small;
      on_small_stack([&] { small = outcome(); });
      EXPECT_EQ(small, outcome()) << n;
    }
}

}  // namespace
}  // namespace loom::text
