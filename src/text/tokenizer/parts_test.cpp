// Small tokenizer.json files give the ids and texts of the tokenizers package: tests/golden/tokenizers/parts.json, made
// by tools/golden/tokenizer_parts.py.

#include <algorithm>
#include <cstring>
#include <span>

#include "core/json.h"
#include "support/paths.h"
#include "text/tokenizer/json_members.h"
#include "text/tokenizer/test_data.h"

namespace loom::text::parts_test {
namespace {

TEST(TokenizerParts, give_the_ids_and_texts_of_the_tokenizers_package) {  // X-01
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

// The result of a file for a text: ids with the tokens of the post-processor, and the text of them; or the error.
std::string outcome(const Json& file, const std::string& text, bool must_load) {
  const auto tokenizer = Tokenizer::from_json(dump_json(file));
  EXPECT_TRUE(tokenizer || !must_load) << tokenizer.error().text();
  if (!tokenizer) return tokenizer.error().text();
  std::vector<std::int32_t> ids;
  const auto encoded = tokenizer->encode(text, {.add_special_tokens = true}, ids);
  if (!encoded) return encoded.error().text();
  return fmt::format("{} {}", fmt::join(ids, ","), tokenizer->decode(ids));
}

struct KeyRow {
  const char *part, *base, *key, *value, *text;
};

constexpr const char* kTemplate =
    R"({"type":"TemplateProcessing","single":[{"Sequence":{"id":"A"}},{"SpecialToken":{"id":"a"}}],)"
    R"("special_tokens":{"a":{"ids":[0]}}})";

// Every key that the tokenizers package reads, a value beside the one of `base`, and a text that shows the difference.
constexpr KeyRow kRead[] = {
    {"/model", R"({"type":"BPE"})", "unk_token", R"("u")", "z"},
    {"/model", R"({"type":"BPE","unk_token":"u"})", "fuse_unk", "true", "zz"},
    {"/model", R"({"type":"BPE"})", "byte_fallback", "true", "\n"},
    {"/model", R"({"type":"BPE"})", "ignore_merges", "true", "ac"},
    {"/model", R"({"type":"BPE"})", "merges", "[]", "bc"},
    {"/model", R"({"type":"BPE"})", "continuing_subword_prefix", R"("##")", "ab"},
    {"/model", R"({"type":"BPE"})", "end_of_word_suffix", R"("</w>")", "a"},
    {"/model", R"({"type":"BPE"})", "dropout", "0.5", "a"},
    {"/model", R"({"type":"WordPiece","unk_token":"u"})", "unk_token", R"("a")", "z"},
    {"/model", R"({"type":"WordPiece","unk_token":"u"})", "continuing_subword_prefix", R"("")", "ab"},
    {"/model", R"({"type":"WordPiece","unk_token":"u"})", "max_input_chars_per_word", "1", "ab"},
    {"/model", R"({"type":"WordLevel","unk_token":"u"})", "unk_token", R"("a")", "z"},
    {"/model", R"({"type":"Unigram","vocab":[["u",-1],["a",-2],["<0x0A>",-3]],"unk_id":0})", "unk_id", "1", "z"},
    {"/model", R"({"type":"Unigram","vocab":[["u",-1],["a",-2],["<0x0A>",-3]],"unk_id":0})", "byte_fallback", "true",
     "\n"},
    {"/model", R"({"type":"Unigram","vocab":[["u",-1],["a",-2]],"unk_id":0})", "vocab", R"([["u",-1]])", "a"},
    {"/model", R"({"type":"BPE"})", "vocab", R"({"a":5})", "a"},
    {"/model", R"({"type":"WordLevel","unk_token":"u"})", "vocab", R"({"a":5})", "a"},
    {"/model", R"({"type":"WordPiece","unk_token":"u"})", "vocab", R"({"a":5})", "a"},
    {"/normalizer", R"({"type":"Sequence","normalizers":[]})", "normalizers", R"([{"type":"Lowercase"}])", "A"},
    {"/normalizer", R"({"type":"BertNormalizer"})", "clean_text", "false", "a\tb"},
    {"/normalizer", R"({"type":"BertNormalizer"})", "handle_chinese_chars", "false", "\u4e2d"},
    {"/normalizer", R"({"type":"BertNormalizer"})", "strip_accents", "false", "\u00e9"},
    {"/normalizer", R"({"type":"BertNormalizer"})", "lowercase", "false", "A"},
    {"/normalizer", R"({"type":"Strip","strip_left":true,"strip_right":true})", "strip_left", "false", " a "},
    {"/normalizer", R"({"type":"Strip","strip_left":true,"strip_right":true})", "strip_right", "false", " a "},
    {"/normalizer", R"({"type":"Replace","pattern":{"String":"a"},"content":"b"})", "pattern", R"({"Regex":"[ac]"})",
     "c"},
    {"/normalizer", R"({"type":"Replace","pattern":{"String":"a"},"content":"b"})", "content", R"("c")", "a"},
    {"/normalizer", R"({"type":"Prepend","prepend":"a"})", "prepend", R"("b")", "c"},
    {"/pre_tokenizer", R"({"type":"ByteLevel"})", "add_prefix_space", "false", "a"},
    {"/pre_tokenizer", R"({"type":"ByteLevel","add_prefix_space":false})", "use_regex", "false", "c1"},
    {"/pre_tokenizer", R"({"type":"Metaspace"})", "replacement", R"("_")", "a"},
    {"/pre_tokenizer", R"({"type":"Metaspace"})", "prepend_scheme", R"("never")", "a"},
    {"/pre_tokenizer", R"({"type":"Metaspace"})", "split", "false", "a b"},
    {"/pre_tokenizer", R"({"type":"Split","pattern":{"String":"b"},"behavior":"Removed"})", "pattern",
     R"({"String":"c"})", "bc"},
    {"/pre_tokenizer", R"({"type":"Split","pattern":{"String":"b"},"behavior":"Removed"})", "behavior", R"("Isolated")",
     "bc"},
    {"/pre_tokenizer", R"({"type":"Split","pattern":{"String":"b"},"behavior":"Removed"})", "invert", "true", "bc"},
    {"/pre_tokenizer", R"({"type":"Punctuation"})", "behavior", R"("Removed")", "a'b"},
    {"/pre_tokenizer", R"({"type":"CharDelimiterSplit","delimiter":"a"})", "delimiter", R"("b")", "ab"},
    {"/pre_tokenizer", R"({"type":"FixedLength","length":1})", "length", "2", "bc"},
    {"/post_processor", R"({"type":"BertProcessing","sep":["a",0],"cls":["a",0]})", "sep", R"(["b",1])", "c"},
    {"/post_processor", R"({"type":"BertProcessing","sep":["a",0],"cls":["a",0]})", "cls", R"(["b",1])", "c"},
    {"/pre_tokenizer", R"({"type":"Metaspace"})", "add_prefix_space", "false", "a"},
    {"/pre_tokenizer", R"({"type":"Digits"})", "individual_digits", "true", "11"},
    {"/pre_tokenizer", R"({"type":"Sequence","pretokenizers":[]})", "pretokenizers", R"([{"type":"WhitespaceSplit"}])",
     "a b"},
    {"/post_processor", R"({"type":"Sequence","processors":[]})", "processors",
     R"([{"type":"BertProcessing","sep":["a",0],"cls":["a",0]}])", "c"},
    {"/decoder", R"({"type":"Sequence","decoders":[]})", "decoders",
     R"([{"type":"Replace","pattern":{"String":"a"},"content":"c"}])", "a"},
    {"/post_processor", R"({"type":"RobertaProcessing","sep":["a",0],"cls":["a",0]})", "sep", R"(["b",1])", "c"},
    {"/post_processor", R"({"type":"RobertaProcessing","sep":["a",0],"cls":["a",0]})", "cls", R"(["b",1])", "c"},
    {"/post_processor", kTemplate, "single", R"([{"Sequence":{"id":"A"}}])", "c"},
    {"/post_processor", kTemplate, "special_tokens", R"({"a":{"ids":[1]}})", "c"},
    {"/decoder", R"({"type":"Metaspace"})", "add_prefix_space", "false", "\u2581a"},
    {"/decoder", R"({"type":"Metaspace"})", "prepend_scheme", R"("never")", "\u2581a"},
    {"/decoder", R"({"type":"Replace","pattern":{"String":"a"},"content":"b"})", "pattern", R"({"String":"c"})", "c"},
    {"/decoder", R"({"type":"Replace","pattern":{"String":"a"},"content":"b"})", "content", R"("c")", "a"},
    {"/decoder", R"({"type":"CTC"})", "pad_token", R"("a")", "ab"},
    {"/decoder", R"({"type":"CTC"})", "word_delimiter_token", R"("a")", "ab"},
    {"/decoder", R"({"type":"CTC"})", "cleanup", "false", "a|b"},
    {"/added_tokens/0", R"({"content":"ab"})", "content", R"("abc")", "abc"},
    {"/added_tokens/0", R"({"content":"ab"})", "id", "0", "ab"},
    {"", R"({"added_tokens":[{"id":99,"content":"ab","special":true}]})", "encode_special_tokens", "true", "ab"},
    {"/decoder", R"({"type":"WordPiece","prefix":"##"})", "prefix", R"("b")", "ab"},
    {"/decoder", R"({"type":"WordPiece","cleanup":true})", "cleanup", "false", "a."},
    {"/decoder", R"({"type":"Metaspace"})", "replacement", R"("_")", "_\u2581a"},
    {"/decoder", R"({"type":"BPEDecoder","suffix":"a"})", "suffix", R"("b")", "ab"},
    {"/decoder", R"({"type":"Strip","content":"a","start":1,"stop":0})", "content", R"("b")", "ab"},
    {"/decoder", R"({"type":"Strip","content":"a","start":1,"stop":0})", "start", "0", "ab"},
    {"/decoder", R"({"type":"Strip","content":"a","start":0,"stop":0})", "stop", "1", "ba"},
    {"/added_tokens/0", R"({"content":"ab"})", "single_word", "true", "abc"},
    {"/added_tokens/0", R"({"content":"ab"})", "lstrip", "true", " ab"},
    {"/added_tokens/0", R"({"content":"ab"})", "rstrip", "true", "ab "},
    {"/added_tokens/0", R"({"content":"ab"})", "special", "true", "ab"},
    {"/added_tokens/0", R"({"content":"ab","special":true})", "normalized", "true", "AB"},
};
// Keys that the package reads and that change neither ids nor texts.
constexpr KeyRow kWithoutEffect[] = {
    {"", "{}", "version", R"("1.0")", "abc"},
    {"", "{}", "truncation", R"({"max_length":1,"stride":0,"strategy":"LongestFirst","direction":"Right"})", "abc"},
    {"", "{}", "padding", R"({"strategy":{"Fixed":9},"pad_id":0,"pad_type_id":0,"pad_token":"a","direction":"Right"})",
     "a"},
    {"/pre_tokenizer", R"({"type":"ByteLevel"})", "trim_offsets", "false", "a b"},
    {"/post_processor", R"({"type":"ByteLevel"})", "add_prefix_space", "false", "a b"},
    {"/post_processor", R"({"type":"ByteLevel"})", "trim_offsets", "false", "a b"},
    {"/model", R"({"type":"BPE"})", "dropout", "0", "abc"},
    {"/pre_tokenizer", R"({"type":"Metaspace"})", "str_rep", R"("\u2581")", "a b"},
    {"/post_processor", R"({"type":"ByteLevel"})", "use_regex", "false", "a b"},
    {"/post_processor", R"({"type":"RobertaProcessing","sep":["a",0],"cls":["a",0]})", "trim_offsets", "false", "a b"},
    {"/post_processor", R"({"type":"RobertaProcessing","sep":["a",0],"cls":["a",0]})", "add_prefix_space", "false",
     "a b"},
    {"/post_processor", R"({"type":"TemplateProcessing","single":[{"Sequence":{"id":"A"}}],"special_tokens":{}})",
     "pair", "[]", "c"},
    {"/decoder", R"({"type":"ByteLevel"})", "add_prefix_space", "false", "a b"},
    {"/decoder", R"({"type":"ByteLevel"})", "trim_offsets", "false", "a b"},
    {"/decoder", R"({"type":"ByteLevel"})", "use_regex", "false", "a b"},
    {"/decoder", R"({"type":"Metaspace"})", "str_rep", R"("\u2581")", "a b"},
    {"/decoder", R"({"type":"Metaspace"})", "split", "false", "a b"},
};

std::pair<std::string, std::string> outcomes(const KeyRow& row) {
  Json vocab = Json::object();
  int id = 0;
  for (const char* token :
       {"a", "b", "c",      "u", "bc",     "##b", "##c", "a</w>", "</w>", "<0x0A>",  "\u0120", "\u2581", "_", "'",
        " ", "A", "\u00e9", "e", "\u4e2d", "\t",  "ac",  "1",     "c1",   "a\u2581", ".",      "11",     "|"})
    vocab[token] = id++;
  Json file = {{"model", {{"type", "BPE"}, {"vocab", vocab}}}};
  if (row.part != std::string_view("/model") || std::string_view(row.base).find("BPE") != std::string_view::npos)
    file["model"]["merges"] = {"b c", "c 1", "a \u2581", "1 1"};
  if (std::string_view(row.part).starts_with("/added_tokens")) {
    file["added_tokens"] = Json::array();
    file["normalizer"] = {{"type", "Lowercase"}};
  }
  Json& part = file[Json::json_pointer(row.part)];
  part.update(fixtures::value_of(parse_json(row.base)));
  if (std::string_view(row.part).starts_with("/added_tokens")) part["id"] = id;
  const std::string before = outcome(file, row.text, true);
  part[row.key] = fixtures::value_of(parse_json(row.value));
  return {before, outcome(file, row.text, false)};
}

TEST(TokenizerParts, every_key_has_an_effect_or_is_known_to_have_none) {  // X-01
  for (const KeyRow& row : kRead) {
    const auto [before, after] = outcomes(row);
    EXPECT_NE(before, after) << row.part << " " << row.base << ": " << row.key;
  }
  for (const KeyRow& row : kWithoutEffect) {
    const auto [before, after] = outcomes(row);
    EXPECT_EQ(before, after) << row.part << " " << row.base << ": " << row.key;
  }
}

// Returns whether a row asks about the key of a component.
bool has_row(std::span<const KeyRow> rows, const ComponentMembers& component, std::string_view key) {
  return std::ranges::any_of(rows, [&](const KeyRow& row) {
    const std::string_view part = std::string_view(row.part).substr(std::min<std::size_t>(std::strlen(row.part), 1));
    const bool is_part = component.part == "added_tokens" ? part.starts_with("added_tokens/") : part == component.part;
    const std::string type = fmt::format("\"type\":\"{}\"", component.type);
    return is_part && key == row.key &&
           (component.type.empty() || std::string_view(row.base).find(type) != std::string_view::npos);
  });
}

TEST(TokenizerParts, every_key_that_a_file_may_have_is_tried) {  // X-01
  for (const ComponentMembers& component : component_members()) {
    // Parts have tests of their own, and a compiled map of characters has golden files.
    if (component.part.empty() || component.type == "Precompiled") continue;
    for (const std::string_view key : component.read)
      EXPECT_TRUE(has_row(kRead, component, key)) << component.part << " " << component.type << ": " << key;
    for (const std::string_view key : component.no_effect)
      EXPECT_TRUE(has_row(kWithoutEffect, component, key)) << component.part << " " << component.type << ": " << key;
  }
}

TEST(TokenizerParts, other_keys_are_refused_by_name) {  // X-01
  for (const ComponentMembers& component : component_members()) {
    Json file = {{"model", {{"type", "BPE"}, {"vocab", {{"a", 0}}}, {"merges", Json::array()}}},
                 {"added_tokens", Json::array({{{"id", 0}, {"content", "a"}}})}};
    Json& spec = component.part.empty()             ? file
                 : component.part == "added_tokens" ? file["added_tokens"][0]
                                                    : file[std::string(component.part)];
    if (!component.type.empty()) spec = {{"type", std::string(component.type)}};
    spec["new_option"] = true;
    const auto tokenizer = Tokenizer::from_json(dump_json(file));
    ASSERT_FALSE(tokenizer);
    EXPECT_EQ(tokenizer.error().code, Code::UnknownKey) << tokenizer.error().text();
    EXPECT_NE(tokenizer.error().text().find("new_option"), std::string::npos) << tokenizer.error().text();
  }
}

}  // namespace
}  // namespace loom::text::parts_test
