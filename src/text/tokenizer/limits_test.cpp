// Small files that would make much of little text, and texts that are longer than anybody has room for.

#include "core/json.h"
#include "text/tokenizer/normalizer.h"
#include "text/tokenizer/test_data.h"
#include "text/tokenizer/trie.h"

namespace loom::text {
namespace {

using namespace fixtures;

Json unigram(std::size_t pieces) {
  Json vocab = Json::array({Json::array({"<unk>", 0.0})});
  for (std::size_t k = 1; k <= pieces; ++k) vocab.push_back(Json::array({std::string(k, 'a'), -1.0}));
  return Json{{"type", "Unigram"}, {"unk_id", 0}, {"vocab", std::move(vocab)}};
}
Json file(Json members, Json model = unigram(2)) {
  Json out{{"model", std::move(model)}};
  for (const auto& [key, value] : members.items()) out[key] = value;
  return out;
}
Json replace(const std::string& from, const std::string& to) {
  return Json{{"type", "Replace"}, {"pattern", {{"String", from}}}, {"content", to}};
}
Json sequence(const char* list, const Json& step, std::size_t times) {
  Json steps = Json::array();
  for (std::size_t k = 0; k < times; ++k) steps.push_back(step);
  return Json{{"type", "Sequence"}, {list, std::move(steps)}};
}
Result<Tokenizer> load(const Json& spec) { return Tokenizer::from_json(dump_json(spec)); }
Error encode_error(const Json& spec, const std::string& text) {
  const auto tokenizer = load(spec);
  EXPECT_TRUE(tokenizer) << tokenizer.error().text();
  std::vector<std::int32_t> ids;
  const auto got = tokenizer->encode(text, {}, ids);
  EXPECT_FALSE(got) << ids.size() << " ids";
  return got ? Error{} : got.error();
}

}  // namespace

// Forty doublings of one letter are 2^40 bytes.
TEST(TokenizerLimits, a_normalizer_cannot_make_much_of_little) {
  const Json doubling = sequence("normalizers", replace("a", "aa"), 40);
  EXPECT_EQ(encode_error(file({{"normalizer", doubling}}), "a").code, Code::LimitExceeded);
  EXPECT_EQ(encode_error(file({{"normalizer", replace("a", std::string(100000, 'a'))}}), std::string(100000, 'a')).code,
            Code::LimitExceeded);
  EXPECT_EQ(
      encode_error(file({{"normalizer",
                          sequence("normalizers", Json{{"type", "Prepend"}, {"prepend", std::string(2000, 'a')}}, 2)}}),
                   "a")
          .code,
      Code::LimitExceeded);
  EXPECT_EQ(
      encode_error(file({{"normalizer", sequence("normalizers", Json{{"type", "ByteLevel"}}, 40)}}), "\xC3\xA9").code,
      Code::LimitExceeded);
  EXPECT_EQ(
      encode_error(
          file({{"pre_tokenizer", sequence("pretokenizers", Json{{"type", "ByteLevel"}, {"use_regex", false}}, 40)}}),
          "\xC3\xA9")
          .code,
      Code::LimitExceeded);
  // Ordinary growth is none: a sign of three bytes for a blank, the longest decomposition of Unicode (18 characters for
  // one).
  std::vector<std::int32_t> ids;
  EXPECT_TRUE(load(file({{"normalizer", sequence("normalizers", Json{{"type", "NFKD"}}, 3)}}))
                  ->encode("\xEF\xB7\xBA", {}, ids));
}

TEST(TokenizerLimits, a_decoder_cannot_make_much_of_little) {
  const auto endless = load(file({{"decoder", sequence("decoders", replace("a", "aa"), 40)}}));
  ASSERT_FALSE(endless);
  EXPECT_EQ(endless.error().code, Code::LimitExceeded);
  EXPECT_EQ(endless.error().text(), "decoder Replace: the steps together can make a text more than 1024 times as long");
  EXPECT_FALSE(load(file({{"decoder", replace("a", std::string(2000, 'a'))}})));
  EXPECT_FALSE(load(
      file({{"decoder", sequence("decoders",
                                 Json{{"type", "Replace"}, {"pattern", {{"Regex", "x*"}}}, {"content", "aa"}}, 40)}})));
  const auto shrinking = load(file({{"decoder", sequence("decoders", replace("\xE2\x96\x81", " "), 40)}}));
  EXPECT_TRUE(shrinking) << shrinking.error().text();
  EXPECT_FALSE(load(file({{"decoder", {{"type", "Metaspace"}, {"replacement", "__"}}}})));
  EXPECT_FALSE(load(file({{"pre_tokenizer", {{"type", "Metaspace"}, {"replacement", "__"}}}})));
  EXPECT_FALSE(load(file({{"decoder", replace(std::string(2000, 'a'), "")}})));
}

TEST(TokenizerLimits, tokens_around_a_text_are_few) {
  Json ids = Json::array(), single = Json::array({Json{{"Sequence", {{"id", "A"}, {"type_id", 0}}}}});
  for (int k = 0; k < 100; ++k) {
    ids.push_back(0);
    single.push_back(Json{{"SpecialToken", {{"id", "<unk>"}, {"type_id", 0}}}});
  }
  const auto many = load(
      file({{"post_processor",
             {{"type", "TemplateProcessing"}, {"single", single}, {"special_tokens", {{"<unk>", {{"ids", ids}}}}}}}}));
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().code, Code::LimitExceeded);
}

TEST(TokenizerLimits, a_bad_pattern_is_a_fault_of_the_file) {
  for (const char* pattern : {"(", "[a", "{3}", "*a", "\\p{L", "(?<=ab"}) {
    const auto got =
        load(file({{"normalizer", Json{{"type", "Replace"}, {"pattern", {{"Regex", pattern}}}, {"content", ""}}}}));
    ASSERT_FALSE(got) << pattern;
    EXPECT_TRUE(got.error().code == Code::CorruptData || got.error().code == Code::Unsupported)
        << pattern << ": " << got.error().text();
  }
}

// Encoding stops where the caller's room ends, and a text that can never fit is not begun.
TEST(TokenizerLimits, encoding_stops_at_the_callers_limit) {
  const auto tokenizer = value_of(load(file({{"pre_tokenizer", {{"type", "WhitespaceSplit"}}}})));
  const std::string text = "a aa aaa";  // a, aa, aa + a
  std::vector<std::int32_t> ids;
  EncodeOptions options;
  for (std::size_t most = 0; most < 6; ++most) {
    options.max_tokens = most;
    const auto got = tokenizer.encode(text, options, ids);
    EXPECT_EQ(got.has_value(), most >= 4) << most;
    if (!got) {
      EXPECT_EQ(got.error().code, Code::ContextFull);
    }
  }
  options.max_tokens = 100;
  const auto got = tokenizer.encode(std::string(std::size_t{64} << 20, 'a'), options, ids);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().text(), "the text has more than 100 tokens");
  EXPECT_LE(ids.capacity(), 1000u);
}

TEST(TokenizerLimits, the_tree_finds_what_the_vocabulary_holds) {
  Vocab vocab;
  const char* const texts[] = {"a", "ab", "abc", "b", "\xFF", "\xC3\xA9", "abd", "b", "", "zzzz"};
  for (std::size_t k = 0; k < std::size(texts); ++k) ASSERT_TRUE(vocab.add(texts[k], static_cast<TokenId>(k)));
  const Trie trie = value_of(Trie::of(vocab));
  for (const std::string text :
       {"a", "ab", "abc", "abd", "b", "\xFF", "\xC3\xA9", "\xC3", "abe", "c", "zzz", "zzzz", "zzzzz", "A"}) {
    const std::uint32_t node = trie.walk(Trie::kRoot, text);
    EXPECT_EQ(node == Trie::kNowhere ? kNoToken : trie.token(node), vocab.find(text)) << text;
  }
}

// Results of tokenizers 0.23.3, whose BERT steps know Unicode 8.
TEST(BertSteps, characters_younger_than_their_tables_stay) {
  const auto normalized = [](const char* text, bool strip) {
    const NormalizerPtr step = value_of(
        Normalizer::from_json(Json{{"type", "BertNormalizer"}, {"lowercase", false}, {"strip_accents", strip}}));
    std::string out = text;
    EXPECT_TRUE(step->apply(out));
    return out;
  };
  for (const char* kept : {"a\u0378b", "a\u08e2b", "a\U000110cdb", "a\U00013430b", "a\U0010fffeb", "a\u0e5cb"})
    EXPECT_EQ(normalized(kept, false), kept);
  for (const char* gone : {"a\u00adb", "a\ue000b", "a\u200bb", "a\ufffdb", "a\U000e0001b", "a\u061cb", "a\u0085b"})
    EXPECT_EQ(normalized(gone, false), "ab") << gone;
  EXPECT_EQ(normalized("a\u3000b", false), "a b");
  for (const char* kept : {"a\u07fd", "a\u08ca", "a\U0001e000"}) EXPECT_EQ(normalized(kept, true), kept);
  for (const char* stripped : {"a\u0301", "a\u1734", "a\u0300"}) EXPECT_EQ(normalized(stripped, true), "a") << stripped;
  for (const std::uint32_t c : {0x21u, 0x2Du, 0x3001u, 0x166Du, 0x111C9u})
    EXPECT_TRUE(is_ascii_punctuation(c) || in_bert_category(c, kPunctuation)) << c;
  for (const std::uint32_t c : {0x61Du, 0x2E43u, 0x2E52u, 0x1E95Eu})
    EXPECT_FALSE(in_bert_category(c, kPunctuation)) << c;
}

// Every piece that starts at a place is met on one walk: pieces of 1 to 1000 letters cost 1000 comparisons a letter and
// not their hashes.
TEST(TokenizerLimits, many_long_pieces) {
  const auto tokenizer = value_of(load(file({}, unigram(1000))));
  std::vector<std::int32_t> ids;
  ASSERT_TRUE(tokenizer.encode(std::string(32768, 'a'), {}, ids));
  EXPECT_EQ(ids.size(), 33u);
}

}  // namespace loom::text
