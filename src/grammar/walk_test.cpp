// Random walks under masks. tests/outside/schema_walks.py gives the schemas and judges the documents with jsonschema.

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/philox.h"
#include "grammar/grammar.h"
#include "support/files.h"

namespace loom::grammar_walk_test {
namespace {

// A vocabulary of bytes and pieces of two to four characters, which cross the borders of JSON's tokens.
std::shared_ptr<const text::Tokenizer> tokenizer() {
  Json vocab = Json::object();
  int next = 0;
  vocab["<end>"] = next++;
  for (char c = '!'; c <= '~'; ++c) vocab[std::string(1, c)] = next++;
  for (const char* piece : {"\xC4\xA0", "\xC4\x8A",   "{\"",      "\":",      "\":\xC4\xA0", "\",", "\"}",  "},",
                            "]}",       "[]",         "{}",       "00",       "12",          "-1",  "ab",   "\\n",
                            "\\u00",    "\xC4\xA0\"", "tru",      "e}",       "null",        "fal", "2024", "\xC3\x83",
                            "\xC2\xA9", "\xC3\xB0",   "\xC5\x81", "\xC4\xBA", "\xC4\xA2"})
    vocab[piece] = next++;
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
                     {"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", Json::array()}}}};
  auto made = text::Tokenizer::from_json(dump_json(json));
  EXPECT_TRUE(made) << made.error().text();
  return std::make_shared<const text::Tokenizer>(std::move(*made));
}

// Draws allowed tokens until the end; after `patience` tokens those that can close something are preferred.
Result<std::string> walk(const std::shared_ptr<const Grammar>& grammar, const text::Tokenizer& words,
                         const std::shared_ptr<const TokenTrie>& trie, std::uint32_t seed) {
  constexpr std::size_t kPatience = 40, kMostTokens = 20000;
  const std::vector<std::int32_t> ends{0};
  LOOM_TRY(GrammarState state, GrammarState::create(grammar, trie, ends, words.vocab_size()));
  const RandomStream random{17, RandomDomain::Noise, seed, 1};
  std::string text;
  for (std::size_t step = 0; step < kMostTokens; ++step) {
    LOOM_TRY(const TokenMask mask, state.mask());
    std::vector<std::int32_t> allowed, closing;
    for (std::size_t id = 0; id < words.vocab_size(); ++id) {
      if (!allows(mask, id)) continue;
      const auto token = static_cast<std::int32_t>(id);
      const std::string_view spelled = words.token_text(token);
      allowed.push_back(token);
      if (id == 0 || spelled == "\"" || spelled == "]" || spelled == "}") closing.push_back(token);
    }
    if (allowed.empty()) return fail(Code::InvalidState, "no token may follow {}", text);
    const auto& pool = step > kPatience && !closing.empty() && random.below(2 * step, 4) != 0 ? closing : allowed;
    const std::int32_t token = pool[random.below(2 * step + 1, static_cast<std::uint32_t>(pool.size()))];
    if (token == 0) return text;
    LOOM_TRY_VOID(state.advance(token));
    text += words.decode(std::span(&token, 1));
  }
  return fail(Code::LimitExceeded, "no end after {} tokens", kMostTokens);
}

std::string setting(const char* name, const char* otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

// LOOM_WALK_SCHEMAS: a file with a JSON list of schemas; LOOM_WALK_OUT: takes a line [schema, document] for each walk.
TEST(Walks, EveryDocumentIsWhole) {
  Json schemas = parse_json(R"([true, {"type":"object","properties":{"a":{"type":"string","pattern":"^[a-c]{2}"},
                                "b":{"type":"array","items":{"type":"integer","minimum":-3,"maximum":12}}}}])")
                     .value();
  if (const std::string path = setting("LOOM_WALK_SCHEMAS", ""); !path.empty())
    schemas = parse_json(test::read_all(path)).value();
  const auto count = static_cast<std::size_t>(std::atoll(setting("LOOM_WALKS", "200").c_str()));
  const auto words = tokenizer();
  const auto trie = TokenTrie::create(*words).value();
  std::vector<std::shared_ptr<const Grammar>> grammars;
  for (const Json& schema : schemas) {
    auto made = Grammar::from_parsed_schema(schema);
    ASSERT_TRUE(made) << dump_json(schema) << ": " << made.error().text();
    grammars.push_back(*made);
  }
  std::string out;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t which = i % grammars.size();
    const auto text = walk(grammars[which], *words, trie, static_cast<std::uint32_t>(i));
    ASSERT_TRUE(text) << dump_json(schemas[which]) << ": " << text.error().text();
    const auto json = parse_json(*text);
    ASSERT_TRUE(json || json.error().message.find("uplicate") != std::string::npos) << *text;
    EXPECT_TRUE(grammars[which]->matches(*text).value()) << *text;
    out += dump_json(Json::array({which, *text})) + "\n";
  }
  if (const std::string path = setting("LOOM_WALK_OUT", ""); !path.empty()) test::write_all(path, out);
}

// LOOM_MATCH_CASES: a file with a JSON list of [schema, [documents]]; LOOM_MATCH_OUT: takes a list of what was found
// for each: an error's text, or a list of whether each document matches.
TEST(Walks, DocumentsAreJudged) {
  const std::string path = setting("LOOM_MATCH_CASES", "");
  const Json cases = path.empty() ? parse_json(R"([[{"type":"integer"}, ["1", "\"1\""]]])").value()
                                  : parse_json(test::read_all(path)).value();
  Json out = Json::array();
  for (const Json& each : cases) {
    const auto made = Grammar::from_parsed_schema(each[0]);
    if (!made) {
      out.push_back(made.error().text());
      continue;
    }
    Json found = Json::array();
    for (const Json& document : each[1]) found.push_back((*made)->matches(*as_string(document)).value());
    out.push_back(found);
  }
  if (path.empty()) {
    EXPECT_EQ(dump_json(out), "[[true,false]]");
  }
  if (const std::string to = setting("LOOM_MATCH_OUT", ""); !to.empty()) test::write_all(to, dump_json(out));
}

}  // namespace
}  // namespace loom::grammar_walk_test
