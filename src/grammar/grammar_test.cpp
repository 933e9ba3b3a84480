// Schemas, GBNF, patterns and choices: which texts they take, what they refuse by name, and the masks of a vocabulary.

#include "grammar/grammar.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <set>
#include <string>
#include <vector>

#include "core/json.h"
#include "grammar/automaton.h"
#include "grammar/runner.h"

namespace loom::grammar_test {
namespace {

using Made = Result<std::shared_ptr<const Grammar>>;

void expect_texts(const Made& made, std::initializer_list<std::string> good, std::initializer_list<std::string> bad) {
  ASSERT_TRUE(made) << made.error().text();
  for (const std::string& text : good) {
    const auto matches = (*made)->matches(text);
    ASSERT_TRUE(matches) << matches.error().text();
    EXPECT_TRUE(*matches) << text;
  }
  for (const std::string& text : bad) {
    const auto matches = (*made)->matches(text);
    ASSERT_TRUE(matches) << matches.error().text();
    EXPECT_FALSE(*matches) << text;
  }
}

void expect_refused(const Made& made, Code code, std::initializer_list<const char*> words) {
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, code) << made.error().text();
  for (const char* word : words) EXPECT_NE(made.error().text().find(word), std::string::npos) << made.error().text();
}

Made schema(std::string_view text) { return Grammar::from_schema(text); }
Made regex(std::string_view text) { return Grammar::from_regex(text); }
Made gbnf(std::string_view text) { return Grammar::from_gbnf(text); }

TEST(Regex, TakesWholeTexts) {
  expect_texts(regex("a(b|c)*d?"), {"a", "abcbc", "abd"}, {"", "b", "add", "xa"});
  expect_texts(regex("[^a-c\\d]{2,3}"), {"xy", "x\xC3\xA9z"}, {"x", "xyzw", "xa", "x1"});
  expect_texts(regex("\\u00e9|\\x41|\\u{1F600}"), {"\xC3\xA9", "A", "\xF0\x9F\x98\x80"},
               {"e", "B", "\xF0\x9F\x98\x81"});
  expect_texts(regex("^(?:yes|no)$"), {"yes", "no"}, {"yesno", ""});
  expect_texts(regex("(a$|b)c?"), {"a", "b", "bc"}, {"ac"});
  expect_texts(regex("\\p{Lu}\\p{Greek}+"), {"A\xCE\xB1", "\xC3\x89\xCE\xA9"}, {"a\xCE\xB1", "Ab"});
  expect_texts(regex("x{0,3}?y"), {"y", "xxxy"}, {"xxxxy"});
  expect_texts(regex("a{b}"), {"a{b}"}, {"ab"});
  expect_texts(regex("(){65535}a"), {"a"}, {""});
}

TEST(Regex, RefusesByNameAndPlace) {
  expect_refused(regex("("), Code::InvalidArgument, {"( without )", "byte 0"});
  expect_refused(regex("ab)"), Code::InvalidArgument, {"unmatched )", "byte 2"});
  expect_refused(regex("(a)\\1"), Code::InvalidArgument, {"back reference", "byte 3"});
  expect_refused(regex("a(?=b)"), Code::InvalidArgument, {"look-ahead", "byte 1"});
  expect_refused(regex("(?<!b)a"), Code::InvalidArgument, {"look-behind"});
  expect_refused(regex("\\ba"), Code::InvalidArgument, {"word boundary"});
  expect_refused(regex("[b-a]"), Code::InvalidArgument, {"range"});
  expect_refused(regex("a**"), Code::InvalidArgument, {"repetition of nothing"});
  expect_refused(regex("\\"), Code::InvalidArgument, {"\\ at the end"});
  expect_refused(regex("\\p{Nobody}"), Code::InvalidArgument, {"unknown property Nobody"});
  expect_refused(regex("a$b"), Code::InvalidArgument, {"no text satisfies"});
  expect_refused(regex("(a{1000}){1000}"), Code::LimitExceeded, {"states"});
  expect_refused(regex(std::string(10000, '(')), Code::LimitExceeded, {"deeper"});
}

TEST(Gbnf, ReadsRules) {
  expect_texts(gbnf("root ::= \"a\" b* # comment\n  | [x-z]+ \"!\"\nb ::= (\"b\" |\n \"c\")\n"), {"a", "abcb", "xyz!"},
               {"", "abd", "xyz", "!"});
  expect_texts(gbnf("root ::= \"(\" root? \")\""), {"()", "((()))"}, {"", "(", "(()", "())"});
  expect_texts(gbnf("root ::= [^\\n\"]{2,3} \"\\x41\" .?"), {"xyA", "xyzA\n"}, {"xA", "x\nA", "wxyzA"});
  expect_texts(gbnf("root ::= expr\nexpr ::= term ([-+*/] term)*\nterm ::= [0-9]+ | \"(\" expr \")\""),
               {"1", "1+2*(3-4)", "((7))"}, {"1+", "(1", "1++2"});
  expect_texts(gbnf("root ::= \"a\" root | \"b\""), {"b", std::string(5000, 'a') + "b"}, {"a"});
}

TEST(Gbnf, RefusesByNameAndPlace) {
  expect_refused(gbnf("root ::= \"a\"\nroot ::= \"b\""), Code::InvalidArgument, {"line 2", "defined twice"});
  expect_refused(gbnf("root ::= a"), Code::InvalidArgument, {"rule a", "not defined"});
  expect_refused(gbnf("a ::= \"a\""), Code::InvalidArgument, {"no rule root"});
  expect_refused(gbnf("root ::= root \"a\" | \"b\""), Code::InvalidArgument, {"rule root", "left recursion"});
  expect_refused(gbnf("root ::= a \"x\"\na ::= \"y\"? root | \"z\""), Code::InvalidArgument, {"left recursion"});
  expect_refused(gbnf("root ::= \"a\" root"), Code::InvalidArgument, {"no text satisfies"});
  expect_refused(gbnf("root ::= \"a"), Code::InvalidArgument, {"line 1", "at the end of a text"});
  expect_refused(gbnf("root ::= <think>"), Code::InvalidArgument, {"not supported"});
  expect_refused(gbnf("root ::= \"a\"{70000}"), Code::LimitExceeded, {"65535"});
  expect_refused(gbnf("root ::= a{60000}\na ::= b{60000}\nb ::= [a-z]{60000} [0-9]{60000} [a-z]{60000}"),
                 Code::LimitExceeded, {"states"});
}

// The source of a form compiles to the same form.
TEST(Source, MakesTheSameForm) {
  const std::string texts[] = {"yes", "no"};
  for (const Made& made : {schema(R"({"properties":{"b":{},"a":{"type":"integer"}},"required":["b"]})"),
                           regex("[a-c]+"), Grammar::from_gbnf("root ::= \"x\"+"), Grammar::from_choices(texts)}) {
    ASSERT_TRUE(made) << made.error().text();
    const auto again = Grammar::from_source((*made)->source());
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_EQ((*again)->automaton().num_nodes(), (*made)->automaton().num_nodes());
    EXPECT_EQ((*again)->source().texts, (*made)->source().texts);
  }
  EXPECT_EQ(Grammar::from_source({"schema", {}}).error().code, Code::InvalidArgument);
  EXPECT_EQ(Grammar::from_source({"poem", {"x"}}).error().code, Code::InvalidArgument);
}

TEST(Source, OfCallsMakesTheSameForm) {
  const Json schema = parse_json(R"({"type":"object","properties":{"n":{"enum":[1,2]}},"required":["n"],
                                     "additionalProperties":false})")
                          .value();
  const CallGrammar functions[] = {{"f, ", &schema}, {"g, ", &schema}};
  for (const bool is_optional : {false, true}) {
    const CallSyntax syntax{
        .open = "<call>", .between = "|", .close = "</call>", .is_optional = is_optional, .trigger = "<call>"};
    const auto made = Grammar::from_calls(syntax, functions);
    ASSERT_TRUE(made) << made.error().text();
    EXPECT_EQ((*made)->source(), Grammar::source_of_calls(syntax, functions));
    const auto again = Grammar::from_source((*made)->source());
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_EQ((*again)->source(), (*made)->source());
    for (const auto& each : {made, again}) {
      expect_texts(each, {R"(<call>f, {"n": 1}</call>)", R"(<call>f, {"n": 1}|g, {"n": 2}</call>)"},
                   {R"(<call>h, {"n": 1}</call>)", R"(<call>f, {"n": 3}</call>)"});
      EXPECT_EQ((*each)->matches("free text").value(), is_optional);
    }
  }
  for (const char* text : {"", "{", "{}", R"({"functions":[{"before":"f"}]})", R"({"functions":[],"what":1})"})
    EXPECT_FALSE(Grammar::from_source({"calls", {text}})) << text;
}

TEST(Choices, TakeOneOfTheTexts) {
  const std::vector<std::string> texts = {"red", "red wine", "gr\xC3\xBCn"};
  expect_texts(Grammar::from_choices(texts), {"red", "red wine", "gr\xC3\xBCn"}, {"", "re", "red w", "blue"});
  expect_refused(Grammar::from_choices({}), Code::InvalidArgument, {"no choices"});
  std::vector<std::string> many, nested;
  for (int i = 0; i < 20'000; ++i) many.push_back(fmt::format("item {}", i * 7919 % 20'000));
  for (std::size_t i = 1; i <= 200; ++i) nested.emplace_back(i, 'a');
  expect_texts(Grammar::from_choices(many), {"item 0", "item 4500", "item 19999"}, {"item", "item ", "item 20000"});
  expect_texts(Grammar::from_choices(nested), {"a", nested[63], nested[64], nested[199]}, {"", nested[199] + "a"});
  many.push_back(many.front());  // twice, which is no other choice
  expect_texts(Grammar::from_choices(many), {many.front()}, {"item"});
  const std::vector<std::string> empty = {"a", ""};
  expect_refused(Grammar::from_choices(empty), Code::InvalidArgument, {"choice 1 is empty"});
}

TEST(Schema, Types) {
  expect_texts(schema("true"), {"1", "[1, {\"a\": null}]", "\"x\"", "{\n  \"a\": 1\n}"}, {"", "nul", "[1,]", "01"});
  expect_texts(schema(R"({"type":"integer"})"), {"0", "-12", "123456789012345678901"}, {"01", "1.5", "-", "1e3"});
  expect_texts(schema(R"({"type":"number"})"), {"0", "-1.5", "1e9", "1E-05"}, {"1.", ".5", "+1"});
  expect_texts(schema(R"({"type":["string","null"]})"), {"\"\"", "null", R"("\u00e9\n\ud83d\ude00")"},
               {"\"\n\"", R"("\ud83d")", R"("\x")", "\"\xFF\""});
  expect_texts(schema(R"({"enum":[1,"a",{"k":[true]},null]})"), {"1", "\"a\"", R"({"k": [true]})", "null"},
               {"2", "\"b\"", "{}"});
  expect_texts(schema(R"({"const":"\"\\n"})"), {R"("\"\\n")"}, {R"("n")"});
  expect_texts(schema(R"({"enum":[-2.0, 9007199254740992.0, 1.5]})"), {"-2", "9007199254740992", "1.5"}, {"-2.0", "2"});
}

TEST(Schema, BoundsOfIntegers) {
  const std::pair<int, int> bounds[] = {{0, 0}, {0, 9}, {-1, 1}, {7, 123}, {-250, -13}, {-99, 1000}, {999, 1001}};
  for (const auto& [low, high] : bounds) {
    const auto made = schema(dump_json(Json{{"type", "integer"}, {"minimum", low}, {"maximum", high}}));
    ASSERT_TRUE(made) << made.error().text();
    for (int value = -1200; value <= 1200; ++value)
      EXPECT_EQ((*made)->matches(std::to_string(value)).value(), value >= low && value <= high)
          << value << " in " << low << " to " << high;
  }
  expect_texts(schema(R"({"type":"integer","exclusiveMinimum":41})"), {"42", "100", "99999"}, {"41", "5", "-42"});
  expect_texts(schema(R"({"type":"integer","maximum":-7.5})"), {"-8", "-10", "-70"}, {"-7", "0", "8"});
  // zod writes these bounds for each integer.
  expect_texts(
      schema(R"({"type":"integer","minimum":-9007199254740991,"maximum":9007199254740991})"),
      {"0", "7", "-1", "9007199254740991", "-9007199254740991", "8999999999999999", "9000000000000000", "123456"},
      {"9007199254740992", "-9007199254740992", "10000000000000000", "-0", "00", "1.5", ""});
  expect_texts(schema(R"({"type":"integer","minimum":-9223372036854775808,"maximum":9223372036854775807})"),
               {"9223372036854775807", "-9223372036854775808"}, {"9223372036854775808", "-9223372036854775809"});
  expect_texts(
      schema(R"({"type":"integer","exclusiveMinimum":-9223372036854775808,"exclusiveMaximum":9223372036854775807})"),
      {"9223372036854775806", "-9223372036854775807", "0"}, {"9223372036854775807", "-9223372036854775808"});
  expect_texts(schema(R"({"type":"integer","exclusiveMinimum":9223372036854775806,"maximum":18446744073709551615})"),
               {"9223372036854775807", "9223372036854775808", "18446744073709551615"},
               {"9223372036854775806", "18446744073709551616", "0", "-9223372036854775807"});
  expect_texts(schema(R"({"type":"integer","exclusiveMaximum":0})"), {"-1", "-20"}, {"0", "-0", "1"});
  expect_texts(schema(R"({"type":"integer","exclusiveMinimum":-1,"exclusiveMaximum":1})"), {"0"}, {"-1", "1"});
  expect_texts(schema(R"({"enum":[9223372036854775808,3],"type":"integer","minimum":4})"), {"9223372036854775808"},
               {"3"});
  expect_refused(schema(R"({"type":"integer","exclusiveMinimum":18446744073709551615})"), Code::InvalidArgument,
                 {"/exclusiveMinimum", "at most 18446744073709551614"});
  expect_refused(schema(R"({"type":"integer","maximum":1e300})"), Code::InvalidArgument, {"/maximum", "1e+300"});
  expect_texts(schema(R"({"type":"number","minimum":0})"), {"0.5", "3"}, {"-1"});
  expect_refused(schema(R"({"type":"number","maximum":3})"), Code::InvalidArgument, {"/maximum"});
}

// As generators of schemas write the values of a column.
TEST(Schema, ThousandsOfConstants) {
  constexpr int kCount = 20'000;
  Json texts = Json::array(), branches = Json::array();
  for (int i = 0; i < kCount; ++i) texts.push_back(fmt::format("item {}", i * 7919 % kCount));
  const auto listed = Grammar::from_parsed_schema(Json{{"enum", texts}});
  expect_texts(listed, {"\"item 0\"", "\"item 4500\"", "\"item 19999\""}, {"\"item\"", "\"item 20000\"", "item 0"});
  for (const Json& text : texts) branches.push_back(Json{{"const", text}, {"type", "string"}, {"title", text}});
  for (const char* keyword : {"anyOf", "oneOf"}) {
    const auto made = Grammar::from_parsed_schema(Json{{keyword, branches}});
    expect_texts(made, {"\"item 0\"", "\"item 19999\""}, {"\"item\"", "\"item 20000\""});
  }
  expect_texts(schema(R"({"anyOf":[{"const":1},{"enum":[2,"a"],"type":"integer"},{"const":{"k":1}}]})"),
               {"1", "2", R"({"k": 1})"}, {"\"a\"", "3"});
  expect_texts(schema(R"({"allOf":[{"oneOf":[{"const":"a"},{"const":"bc"}]},{"minLength":2}]})"), {"\"bc\""},
               {"\"a\""});
  expect_refused(schema(R"({"oneOf":[{"const":1},{"enum":[2,1.0]}]})"), Code::InvalidArgument, {"/oneOf", "anyOf"});
  expect_refused(schema(R"({"anyOf":[{"const":1,"requird":[]}]})"), Code::InvalidArgument, {"/anyOf/0/requird"});
}

TEST(Schema, ConstantsKeepTheirDigits) {
  expect_texts(schema(R"({"const":18446744073709551615})"), {"18446744073709551615"}, {"18446744073709551616"});
  expect_texts(schema(R"({"const":-9223372036854775808})"), {"-9223372036854775808"}, {});
  expect_texts(schema(R"({"const":1.5e18})"), {"1.5e+18"}, {});
  for (const char* text : {R"({"const":18446744073709551617})", R"({"enum":[1,[{"k":-9223372036854775809}]]})"})
    expect_refused(schema(text), Code::InvalidArgument, {"the whole number", "lost digits", "18446744073709551615"});
}

TEST(Schema, Strings) {
  expect_texts(schema(R"({"type":"string","minLength":2,"maxLength":3})"),
               {"\"ab\"", R"("a\"\u0041")", "\"\xC3\xA9\xC3\xA9\""}, {"\"a\"", "\"abcd\"", "\"\xC3\xA9\""});
  expect_texts(schema(R"({"type":"string","pattern":"^[a-c]+$","minLength":2,"maxLength":3})"), {"\"ab\"", "\"ccc\""},
               {"\"a\"", "\"abca\"", "\"ad\""});
  expect_texts(schema(R"({"type":"string","pattern":"b"})"), {"\"b\"", "\"abc\"", R"("\"b\n")"}, {"\"a\"", "\"\""});
  expect_texts(schema(R"({"allOf":[{"type":"string","pattern":"^a"},{"pattern":"z$"}]})"), {"\"az\"", "\"abz\""},
               {"\"a\"", "\"z\"", "1"});
  expect_texts(schema(R"({"type":"string","format":"date"})"), {"\"2024-02-29\"", "\"1999-12-31\""},
               {"\"2023-02-29\"", "\"2024-04-31\"", "\"1900-02-29\"", "\"0000-01-01\""});
  expect_texts(schema(R"({"type":"string","format":"date-time"})"),
               {"\"2024-02-29T23:59:59Z\"", "\"1999-12-31t00:00:00.5+01:00\""},
               {"\"2024-02-29\"", "\"2024-01-01T24:00:00Z\""});
  expect_texts(schema(R"({"type":"string","format":"uuid"})"), {"\"123e4567-e89b-12d3-a456-426614174000\""},
               {"\"123e4567\""});
  expect_texts(schema(R"({"type":"string","format":"email"})"), {"\"a.b@example.com\""}, {"\"a@b\"", "\"@a.de\""});
}

TEST(Schema, Objects) {
  expect_texts(schema(R"({"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"boolean"}},"required":["b"],
                          "additionalProperties":false})"),
               {R"({"a":1,"b":true})", R"({"b": false})", "{\n  \"a\": 1,\n  \"b\": true\n}"},
               {"{}", R"({"a":1})", R"({"b":true,"a":1})", R"({"b":true,"c":1})", R"({"b":true,})"});
  expect_texts(
      schema(R"({"type":"object","properties":{"ab":{"type":"integer"}},"additionalProperties":{"type":"null"}})"),
      {"{}", R"({"ab":1})", R"({"a":null,"abc":null,"":null,"x":null})"},
      {R"({"ab":null})", R"({"a":1})", R"({"\u0061b":null})"});
  expect_texts(schema(R"({"type":"object","required":["x"]})"), {R"({"x":1})", R"({"x":[],"y":2})"},
               {"{}", R"({"y":2})"});
  expect_texts(schema(R"({"allOf":[{"type":"object","properties":{"b":{"type":"integer"}},"required":["b"]},
                          {"properties":{"b":{"minimum":5},"a":{"const":1}}}],"maxLength":1})"),
               {R"({"b":5})", R"({"b":7,"a":1})"}, {R"({"b":4})", R"({"b":5,"a":2})"});
  expect_texts(Grammar::json_object(), {"{}", R"({"a": {"b": [1, 2]}})"}, {"[]", "1"});
}

TEST(Schema, Arrays) {
  expect_texts(schema(R"({"type":"array","items":{"type":"integer"},"minItems":1,"maxItems":3})"), {"[1]", "[1, 2,3]"},
               {"[]", "[1,2,3,4]", "[\"a\"]"});
  expect_texts(schema(R"({"type":"array","prefixItems":[{"type":"integer"},{"type":"string"}],"items":false})"),
               {"[]", "[1]", "[1,\"a\"]"}, {"[\"a\"]", "[1,\"a\",2]"});
  expect_texts(
      schema(
          R"({"type":"array","prefixItems":[{"type":"integer"}],"items":{"type":"null"},"minItems":2,"maxItems":3})"),
      {"[1,null]", "[1,null,null]"}, {"[1]", "[1,null,null,null]"});
}

TEST(Schema, ReferencesAndChoices) {
  expect_texts(schema(R"({"$defs":{"tree":{"type":"object","properties":{"next":{"anyOf":[{"$ref":"#/$defs/tree"},
                          {"type":"null"}]}},"required":["next"],"additionalProperties":false}},"$ref":"#/$defs/tree"})"),
               {R"({"next":null})", R"({"next":{"next":{"next":null}}})"}, {R"({"next":1})", "null"});
  expect_texts(schema(R"({"type":"array","items":{"$ref":"#"}})"), {"[]", "[[], [[]]]"}, {"[1]"});
  expect_texts(schema(R"({"oneOf":[{"type":"object","properties":{"kind":{"const":"a"}},"required":["kind"]},
                          {"type":"object","properties":{"kind":{"const":"b"},"n":{"type":"integer"}},"required":["kind"]}]})"),
               {R"({"kind":"a"})", R"({"kind":"b","n":1})"}, {R"({"kind":"c"})", R"({"kind":"b","n":"x"})"});
  expect_texts(schema(R"({"anyOf":[{"minLength":2},{"type":"integer"}],"type":["string","integer"]})"), {"\"ab\"", "7"},
               {"\"a\"", "null"});
}

TEST(Schema, RefusesByNameAndPlace) {
  expect_refused(schema("{"), Code::InvalidArgument, {"the schema"});
  expect_refused(schema(R"({"properties":{"a":{"not":{}}}})"), Code::InvalidArgument,
                 {"/properties/a/not", "not supported"});
  expect_refused(schema(R"({"patternProperties":{}})"), Code::InvalidArgument, {"/patternProperties"});
  expect_refused(schema(R"({"requird":["a"]})"), Code::InvalidArgument, {"/requird"});
  expect_refused(schema(R"({"items":{"type":"strin"}})"), Code::InvalidArgument, {"/items/type"});
  expect_refused(schema(R"({"properties":{"a":{"pattern":"("}}})"), Code::InvalidArgument,
                 {"/properties/a/pattern", "byte 0"});
  expect_refused(schema(R"({"type":"string","format":"uri"})"), Code::InvalidArgument, {"/format", "uri"});
  expect_refused(schema(R"({"$ref":"other.json"})"), Code::InvalidArgument, {"/$ref"});
  expect_refused(schema(R"({"$ref":"#/$defs/a"})"), Code::InvalidArgument, {"/$ref", "nothing is at"});
  expect_refused(schema(R"({"$ref":"#"})"), Code::InvalidArgument, {"refers to itself"});
  expect_refused(schema(R"({"oneOf":[{"type":"integer"},{"minimum":3}]})"), Code::InvalidArgument, {"/oneOf", "anyOf"});
  expect_refused(schema(R"({"uniqueItems":true})"), Code::InvalidArgument, {"/uniqueItems"});
  expect_refused(schema(R"({"type":"integer","multipleOf":2})"), Code::InvalidArgument, {"/multipleOf"});
  expect_refused(schema("false"), Code::InvalidArgument, {"no text satisfies"});
  expect_refused(schema(R"({"allOf":[{"type":"string"},{"type":"null"}]})"), Code::InvalidArgument,
                 {"no text satisfies"});
  expect_refused(schema(R"({"minLength":-1})"), Code::InvalidArgument, {"/minLength"});
}

// Bounds are counts, so these end after equal work on every machine.
TEST(Hostile, ExplosionsAreErrors) {
  const Json two = parse_json(R"({"anyOf":[{"minLength":1},{"maxLength":5}]})").value();
  Json all = Json::array();
  for (int i = 0; i < 40; ++i) all.push_back(two);
  // Equal schemas at different places are different ones: 2^40 combinations.
  expect_refused(Grammar::from_parsed_schema(Json{{"allOf", all}}), Code::LimitExceeded, {"too large"});
  expect_refused(schema(R"({"type":"string","minLength":4294967290})"), Code::LimitExceeded, {"states"});
  expect_refused(schema(R"({"type":"array","minItems":4000000000})"), Code::LimitExceeded, {"states"});
  expect_refused(schema(R"({"pattern":"^(a|b|ab)*$","maxLength":100000})"), Code::LimitExceeded, {"too large"});
  expect_refused(schema(std::string(100000, '[')), Code::LimitExceeded, {});
  // Every position inside of two nested counts fits.
  const auto ambiguous = gbnf("root ::= a{0,2000}\na ::= \"x\"{0,2000}");
  ASSERT_TRUE(ambiguous) << ambiguous.error().text();
  const auto matches = (*ambiguous)->matches(std::string(1999, 'x'));
  ASSERT_FALSE(matches);
  EXPECT_EQ(matches.error().code, Code::LimitExceeded);
  // A chain of references is followed without recursion.
  Json defs = Json::object();
  for (int i = 0; i < 20000; ++i)
    defs["d" + std::to_string(i)] = {{"type", "object"},
                                     {"properties", {{"n", {{"$ref", "#/$defs/d" + std::to_string(i + 1)}}}}}};
  defs["d20000"] = {{"type", "null"}};
  const auto chain = Grammar::from_parsed_schema(Json{{"$defs", defs}, {"$ref", "#/$defs/d0"}});
  EXPECT_TRUE(chain || chain.error().code == Code::LimitExceeded) << chain.error().text();
}

TEST(Hostile, DeepTextsEnd) {
  const auto any = schema("true");
  ASSERT_TRUE(any);
  EXPECT_TRUE((*any)->matches(std::string(400, '[') + std::string(400, ']')).value());
  EXPECT_FALSE((*any)->matches(std::string(100000, '[')).value());
}

// --- Masks -------------------------------------------------------------------------------------------------------

// A byte-level vocabulary: all bytes of printable ASCII, pieces of JSON, and an end.
Json vocabulary() {
  Json vocab = Json::object();
  int next = 0;
  vocab["<end>"] = next++;
  for (char c = '!'; c <= '~'; ++c) vocab[std::string(1, c)] = next++;
  for (const char* piece : {"\xC4\xA0", "\xC4\x8A", "{\"",    "\":", "\xC4\xA0true", "\",",      "name",   "12", "\"}",
                            "\xC3\x83", "\xC2\xA9", "na",     "nam", "names",        "namesake", "namely", "ab", "abc",
                            "abcd",     "abcde",    "abcdef", "abd", "ab\"",         "abc\\",    "bb",     "bbb"})
    vocab[piece] = next++;
  return vocab;
}

std::shared_ptr<const text::Tokenizer> tokenizer() {
  const Json json = {{"version", "1.0"},
                     {"added_tokens",
                      {{{"id", 0},
                        {"content", "<end>"},
                        {"single_word", false},
                        {"lstrip", false},
                        {"rstrip", false},
                        {"normalized", false},
                        {"special", true}}}},
                     {"normalizer", nullptr},
                     {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}}},
                     {"post_processor", nullptr},
                     {"decoder", {{"type", "ByteLevel"}}},
                     {"model", {{"type", "BPE"}, {"vocab", vocabulary()}, {"merges", Json::array()}}}};
  auto made = text::Tokenizer::from_json(dump_json(json));
  EXPECT_TRUE(made) << made.error().text();
  return std::make_shared<const text::Tokenizer>(std::move(*made));
}

struct Walk {
  std::shared_ptr<const text::Tokenizer> words = tokenizer();
  std::shared_ptr<const TokenTrie> trie = TokenTrie::create(*words).value();
  std::vector<std::int32_t> ends{0};

  GrammarState begin(const Made& made) {
    return GrammarState::create(made.value(), trie, ends, words->vocab_size()).value();
  }
};

// By brute force: a token is allowed where the runner takes the text with it, byte by byte.
void expect_brute_force(const Made& made) {
  Walk walk;
  ASSERT_TRUE(made) << made.error().text();
  GrammarState state = walk.begin(made);
  std::string text;
  std::uint64_t seed = 1;
  for (int step = 0; step < 200; ++step) {
    const TokenMask mask = state.mask().value();
    std::vector<std::int32_t> allowed;
    for (std::size_t id = 0; id < walk.words->vocab_size(); ++id) {
      const auto token = static_cast<std::int32_t>(id);
      const std::string piece = walk.words->decode(std::span(&token, 1));
      grammar::Runner runner((*made)->automaton());
      grammar::StateId at = runner.start().value();
      for (const char c : text + piece)
        if (at != grammar::Runner::kDead) at = runner.next(at, static_cast<std::uint8_t>(c)).value();
      const bool expected = id == 0 ? state.is_complete() : !piece.empty() && at != grammar::Runner::kDead;
      EXPECT_EQ(allows(mask, id), expected) << text << " + " << piece;
      if (allows(mask, id) && id != 0) allowed.push_back(token);
    }
    if (allowed.empty()) break;
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    const std::int32_t token = allowed[static_cast<std::size_t>(seed >> 33) % allowed.size()];
    ASSERT_TRUE(state.advance(token));
    text += walk.words->decode(std::span(&token, 1));
  }
  if (!state.is_complete()) return;  // a long string
  EXPECT_TRUE(parse_json(text)) << text;
}

TEST(Mask, EqualsTheRunnerTokenByToken) {
  expect_brute_force(
      schema(R"({"type":"object","properties":{"name":{"type":"string","maxLength":4},"n":{"type":"integer"},
                               "b":{"type":"boolean"}},"required":["name","b"],"additionalProperties":false})"));
}

// Where many tokens are allowed at once, by the plain bytes that a state takes: without end, up to a length, up to a
// name that is taken, in part.
TEST(Mask, EqualsTheRunnerWherePlainTextsAreAllowed) {
  for (const char* const text :
       {R"({"type":"string"})", R"({"type":"string","maxLength":9,"minLength":3})", R"({"type":"object"})",
        R"({"type":"object","properties":{"abc":{"type":"string"},"na":{"type":"null"}},"minProperties":0})",
        R"({"type":"array","items":{"type":"string","pattern":"^[ -~]{2,5}$"},"minItems":3})",
        R"({"type":"string","pattern":"^([a-z][a-z])*$"})"})
    expect_brute_force(schema(text));
  expect_brute_force(regex("\"[^\"]{0,70}\""));
}

TEST(Mask, EndsOnlyWhereTheTextIsComplete) {
  Walk walk;
  const std::vector<std::string> texts = {"name", "name12"};
  GrammarState state = walk.begin(Grammar::from_choices(texts));
  EXPECT_FALSE(allows(state.mask().value(), 0));
  const auto id = [&](std::string_view text) { return walk.words->id_of(text).value(); };
  ASSERT_TRUE(state.advance(id("name")));
  EXPECT_TRUE(allows(state.mask().value(), 0));
  EXPECT_TRUE(allows(state.mask().value(), static_cast<std::size_t>(id("12"))));
  EXPECT_FALSE(allows(state.mask().value(), static_cast<std::size_t>(id("2"))));
  const auto refused = state.advance(id("2"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::InvalidArgument);
  ASSERT_TRUE(state.advance(id("12")));
  const TokenMask last = state.mask().value();
  for (std::size_t i = 0; i < walk.words->vocab_size(); ++i) EXPECT_EQ(allows(last, i), i == 0);
}

// Tokens may end inside of a character.
TEST(Mask, FollowsBytesOfACharacter) {
  Walk walk;
  GrammarState state = walk.begin(regex("\\u00e9+"));
  const auto first = static_cast<std::size_t>(walk.words->id_of("\xC3\x83").value());
  const auto second = static_cast<std::size_t>(walk.words->id_of("\xC2\xA9").value());
  EXPECT_TRUE(allows(state.mask().value(), first));
  EXPECT_FALSE(allows(state.mask().value(), second));
  ASSERT_TRUE(state.advance(static_cast<std::int32_t>(first)));
  EXPECT_FALSE(state.is_complete());
  EXPECT_TRUE(allows(state.mask().value(), second));
}

// Long texts run through more states than are kept.
TEST(Mask, IsTheSameAfterStatesAreForgotten) {
  Walk walk;
  const Made any = schema("true");
  GrammarState one = walk.begin(any);
  const auto bracket = walk.words->id_of("[").value();
  for (int i = 0; i < 900; ++i) {
    ASSERT_TRUE(one.mask());
    ASSERT_TRUE(one.advance(bracket));
  }
  GrammarState two = walk.begin(any);
  for (int i = 0; i < 900; ++i) ASSERT_TRUE(two.advance(bracket));
  const TokenMask a = one.mask().value(), b = two.mask().value();
  EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end()));
}

}  // namespace
}  // namespace loom::grammar_test
