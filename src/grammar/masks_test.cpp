// Masks beside a slow walk: a token is allowed where a runner of its own takes the bytes of it, one by one.

#include "grammar/masks.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "core/json.h"
#include "core/philox.h"
#include "grammar/grammar.h"
#include "support/files.h"

namespace loom::grammar_masks_test {
namespace {

using Form = std::shared_ptr<const Grammar>;
using grammar::Runner;

// A stream of draws.
class Draws {
 public:
  explicit Draws(std::uint32_t seed) : stream_{23, RandomDomain::Noise, seed, 1} {}
  std::uint32_t below(std::size_t bound) { return stream_.below(next_++, static_cast<std::uint32_t>(bound)); }
  template <class List>
  auto of(const List& list) {
    return *(std::begin(list) + below(std::size(list)));
  }

 private:
  RandomStream stream_;
  std::uint64_t next_ = 0;
};

// The characters by which byte-level vocabularies spell bytes: printable ones stand for themselves.
std::string spelled(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    unsigned code = 256, byte = static_cast<std::uint8_t>(c);
    const auto stands = [](unsigned b) { return (b > 0x20 && b < 0x7F) || (b > 0xA0 && b != 0xAD); };
    for (unsigned b = 0; b < byte; ++b) code += stands(b) ? 0 : 1;
    if (stands(byte)) code = byte;
    if (code < 0x80) {
      out += static_cast<char>(code);
    } else {
      out += static_cast<char>(0xC0 | code >> 6);
      out += static_cast<char>(0x80 | (code & 0x3F));
    }
  }
  return out;
}

// All bytes, and texts drawn from parts that begin, cut and damage characters, escapes and the marks of JSON.
std::shared_ptr<const text::Tokenizer> random_vocabulary(std::uint32_t seed, std::size_t size) {
  constexpr std::string_view kParts[] = {"a",
                                         "b",
                                         "e",
                                         "na",
                                         "name",
                                         "id",
                                         " ",
                                         "\"",
                                         "\\",
                                         "\\n",
                                         "\\u0",
                                         "\n",
                                         "\t",
                                         "{",
                                         "}",
                                         "\":",
                                         "\",",
                                         "[",
                                         "]",
                                         "0",
                                         "12",
                                         "-",
                                         ".",
                                         "\x7F",
                                         "\xC3",
                                         "\xA9",
                                         "\xC3\xA9",
                                         "\xE6\x9D",
                                         "\xB1",
                                         "<",
                                         "abc",
                                         "    ",
                                         "\xE6\x9D\xB1",
                                         "\xF0\x9F\x98\x80",
                                         "\xF0\x9F",
                                         "\xED\xA0"};
  Draws draws(seed);
  Json vocab = Json::object();
  int next = 0;
  vocab["<end>"] = next++;
  for (unsigned byte = 0; byte < 256; ++byte) vocab[spelled(std::string(1, static_cast<char>(byte)))] = next++;
  while (vocab.size() < size) {
    std::string text;
    for (std::size_t parts = 1 + draws.below(draws.below(8) == 0 ? 24 : 5); parts > 0; --parts)
      text += draws.of(kParts);
    if (const auto [at, is_new] = vocab.emplace(spelled(text), next); is_new) ++next;
  }
  const Json end = {{"id", 0},         {"content", "<end>"},  {"single_word", false}, {"lstrip", false},
                    {"rstrip", false}, {"normalized", false}, {"special", true}};
  const Json json = {{"version", "1.0"},
                     {"added_tokens", {end}},
                     {"normalizer", nullptr},
                     {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}}},
                     {"post_processor", nullptr},
                     {"decoder", {{"type", "ByteLevel"}}},
                     {"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", Json::array()}}}};
  auto made = text::Tokenizer::from_json(dump_json(json));
  EXPECT_TRUE(made) << made.error().text();
  return std::make_shared<const text::Tokenizer>(std::move(*made));
}

// The states of a text, found by a runner that knows of no vocabulary.
class SlowWalk {
 public:
  explicit SlowWalk(const Grammar& form) : runner_(form.automaton()), state_(runner_.start().value()) {}
  Result<bool> takes(std::string_view bytes) {
    if (runner_.num_states() > Runner::kMostStates / 4) state_ = runner_.clear(state_);
    LOOM_TRY(const grammar::StateId to, follow(bytes));
    return !bytes.empty() && to != Runner::kDead;
  }
  void advance(std::string_view bytes) { state_ = follow(bytes).value(); }
  bool is_complete() const { return runner_.accepts(state_); }

 private:
  Result<grammar::StateId> follow(std::string_view bytes) {
    grammar::StateId at = state_;
    runner_.begin_work();
    for (const char c : bytes)
      if (at != Runner::kDead) {
        LOOM_TRY(at, runner_.next(at, static_cast<std::uint8_t>(c)));
      }
    return at;
  }
  Runner runner_;
  grammar::StateId state_;
};

// Compares the masks of a random text of the form, up to one that is too ambiguous where it need not fit. `vocab` may
// differ from the tokenizer's.
void compare(const Form& form, const std::shared_ptr<const TokenTrie>& trie, std::size_t vocab, std::int32_t end,
             std::size_t steps, std::uint32_t seed, bool must_fit = true) {
  const std::int32_t ends[] = {end};
  auto state = GrammarState::create(form, trie, ends, vocab);
  if (!state && !must_fit) return;
  SlowWalk slow(*form);
  Draws draws(seed);
  std::string text;
  for (std::size_t step = 0; step < steps; ++step) {
    const TokenTrie::Tree& tree = step == 0 ? trie->first() : trie->later();
    const auto mask = state->mask();
    if (!mask && mask.error().code == Code::LimitExceeded && !must_fit) return;
    ASSERT_TRUE(mask) << mask.error().text() << " after " << text;
    std::vector<std::int32_t> allowed, plain;
    std::size_t wrong = 0;
    for (std::size_t id = 0; id < mask->size() * 64; ++id) {
      const auto token = static_cast<std::int32_t>(id);
      const bool is_end = token == end;
      const Result<bool> takes = slow.takes(tree.bytes_of(token));
      if (!takes && !must_fit) return;
      const bool expected = id < vocab && (is_end ? slow.is_complete() : takes.value());
      if (allows(*mask, id) != expected && ++wrong < 4)
        ADD_FAILURE() << "token " << id << " \"" << tree.bytes_of(token) << "\" expected " << expected << " after \""
                      << text << "\", step " << step << ", seed " << seed;
      if (expected && !is_end) allowed.push_back(token);
    }
    ASSERT_EQ(wrong, 0u);
    if (allowed.empty()) return;
    const std::int32_t token = draws.of(allowed);
    ASSERT_TRUE(state->advance(token));
    slow.advance(tree.bytes_of(token));
    text += tree.bytes_of(token);
  }
}

std::string random_pattern(Draws& draws, int depth = 0) {
  constexpr const char* kAtoms[] = {"[^]",        "[^\"\\\\]",      ".",
                                    "[a-z]",      "[^a-c]",         "na",
                                    "[^<]",       "\\u00e9",        "[0-9]",
                                    "\\n",        "\\p{L}",         "\"",
                                    "[ -~]",      "[^\\x00-\\x1f]", "[\\u6700-\\uffff]",
                                    "[^\\u6771]", "\\u{1F600}",     "[^\\x20-\\x7e]"};
  constexpr const char* kTimes[] = {"", "", "*", "+", "?", "{2}", "{0,5}", "{1,9}", "{3,}"};
  std::string out;
  for (std::size_t parts = 1 + draws.below(3); parts > 0; --parts) {
    const std::string part = depth < 1 && draws.below(3) == 0
                                 ? "(" + random_pattern(draws, depth + 1) + "|" + random_pattern(draws, depth + 1) + ")"
                                 : std::string(draws.of(kAtoms));
    out += part + draws.of(kTimes);
  }
  return out;
}

Json random_schema(Draws& draws, int depth = 0) {
  constexpr const char* kNames[] = {"name", "names", "id", "\xC3\xA9", "a\"b", "12"};
  constexpr const char* kPatterns[] = {"^[a-z]+$", "b", "^.{2,5}$", "^[ -~]{2,9}$", "na", "^[^<]*<?$"};
  switch (draws.below(depth < 3 ? 8 : 5)) {
    case 0: return {{"type", "string"}};
    case 1: {
      const std::uint32_t least = draws.below(4);
      return {{"type", "string"}, {"minLength", least}, {"maxLength", least + draws.below(40)}};
    }
    case 2: return {{"type", "string"}, {"pattern", draws.of(kPatterns)}};
    case 3: return {{"type", "integer"}, {"minimum", -7}, {"maximum", 5 + draws.below(5000)}};
    case 4: return {{"enum", {"red", "na\"me", 12, nullptr}}};
    case 5: return {{"type", "array"}, {"items", random_schema(draws, depth + 1)}, {"minItems", draws.below(2)}};
    case 6: return {{"anyOf", {random_schema(draws, depth + 1), random_schema(draws, depth + 1)}}};
    default: break;
  }
  Json properties = Json::object(), required = Json::array();
  for (std::size_t count = draws.below(4); count > 0; --count) {
    const char* const name = draws.of(kNames);
    if (properties.contains(name)) continue;
    properties[name] = random_schema(draws, depth + 1);
    if (draws.below(2) == 0) required.push_back(name);
  }
  Json out = {{"type", "object"}, {"properties", properties}, {"required", required}};
  if (draws.below(2) == 0) out["additionalProperties"] = false;
  return out;
}

TEST(Masks, EqualTheSlowWalkOfRandomForms) {
  constexpr std::uint32_t kVocabularies = 4, kForms = 30;
  std::size_t compared = 0;
  for (std::uint32_t v = 0; v < kVocabularies; ++v) {
    const auto words = random_vocabulary(v, 1500);
    const auto trie = TokenTrie::create(*words).value();
    for (std::uint32_t f = 0; f < kForms && !::testing::Test::HasFailure(); ++f) {
      Draws draws(1000 * v + f);
      const std::string text = f % 2 == 0 ? random_pattern(draws) : dump_json(random_schema(draws));
      const auto form = f % 2 == 0 ? Grammar::from_regex(text) : Grammar::from_schema(text);
      if (!form) continue;  // parts that exclude one another, or too many of them
      SCOPED_TRACE(text);
      // The second text has the masks of the first.
      for (std::uint32_t seed = 0; seed < 2; ++seed)
        compare(*form, trie, words->vocab_size() + 70 * (v % 2), 0, 12, seed, f % 2 != 0);
      if (v == 3) compare(*form, trie, 1001, 0, 5, 7, f % 2 != 0);  // fewer logits than tokens
      ++compared;
    }
  }
  EXPECT_GT(compared, std::size_t{kVocabularies} * kForms * 3 / 4);
}

TEST(Masks, EqualTheSlowWalkOfRealVocabularies) {
  constexpr const char* kSchemas[] = {
      R"({"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer"}},"required":["name"]})",
      R"({"type":"string","minLength":1,"maxLength":80})",
      R"({"type":"array","items":{"type":"string","maxLength":9}})"};
  constexpr const char* kPatterns[] = {"[^]*", "[^<]*<x>", "(\\p{L}+ )*[.]", "[^\"]{0,70}\"[a-z]+"};
  for (const char* name : {"llama3", "llama2", "gemma3"}) {
    SCOPED_TRACE(name);
    auto made = text::Tokenizer::from_json(
        test::read_all(test::data_path(std::string("tokenizers/") + name + "/tokenizer.json")));
    ASSERT_TRUE(made) << made.error().text();
    const auto trie = TokenTrie::create(*made).value();
    for (const char* schema : kSchemas)
      compare(Grammar::from_schema(schema).value(), trie, made->vocab_size(), 2, 8, 3);
    for (const char* pattern : kPatterns)
      compare(Grammar::from_regex(pattern).value(), trie, made->vocab_size(), 2, 5, 3);
  }
}

// Texts that run at once have masks of their own, and later texts those of earlier ones.
TEST(Masks, ManyThreadsMayFollowOneForm) {
  const auto words = random_vocabulary(9, 600);
  const auto trie = TokenTrie::create(*words).value();
  const Form form = Grammar::json_object().value();
  std::vector<std::thread> threads;
  for (std::uint32_t t = 0; t < 6; ++t)
    threads.emplace_back([&, t] {
      for (std::uint32_t i = 0; i < 3; ++i) compare(form, trie, words->vocab_size(), 0, 20, 10 * t + i);
    });
  for (std::thread& thread : threads) thread.join();
}

// Masks of another vocabulary, of other ends or of another number of logits are not taken.
TEST(Masks, AreKeptForTheSameVocabularyAlone) {
  const auto one = random_vocabulary(5, 500), two = random_vocabulary(6, 500);
  const auto trie_of_one = TokenTrie::create(*one).value(), trie_of_two = TokenTrie::create(*two).value();
  const Form form = Grammar::from_schema(R"({"type":["string","integer"]})").value();
  for (int round = 0; round < 2; ++round) {
    compare(form, trie_of_one, one->vocab_size(), 0, 12, 1);
    compare(form, trie_of_two, two->vocab_size(), 0, 12, 1);
    compare(form, trie_of_one, one->vocab_size(), 3, 12, 1);
    compare(form, trie_of_one, one->vocab_size() + 64, 0, 12, 1);
  }
}

}  // namespace
}  // namespace loom::grammar_masks_test
