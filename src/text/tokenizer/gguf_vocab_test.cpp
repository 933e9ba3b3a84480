// llama.cpp's published vectors, and what GGUF vocabularies promise.

#include <algorithm>
#include <sstream>

#include "text/tokenizer/test_data.h"

namespace loom::text {
namespace {

using namespace fixtures;

class LlamaVectors : public ::testing::TestWithParam<const char*> {};

TEST_P(LlamaVectors, ids_equal_the_published_ones) {
  const std::string base = std::string("vocabs/") + GetParam() + ".gguf";
  const auto tokenizer = value_of(Tokenizer::from_vocab(gguf_spec(base)));
  const std::string texts = read_file(data_path(base + ".inp"));
  std::istringstream expected(read_file(data_path(base + ".out")));
  const std::string separator = "\n__ggml_vocab_test__\n";
  std::size_t at = 0, rows = 0;
  std::string line;
  while (at < texts.size()) {
    const std::size_t end = std::min(texts.find(separator, at), texts.size());
    const std::string text = texts.substr(at, end - at);
    at = end == texts.size() ? end : end + separator.size();
    ASSERT_TRUE(std::getline(expected, line));
    std::istringstream numbers(line);
    std::vector<std::int32_t> ids;
    for (std::int32_t id; numbers >> id;) ids.push_back(id);
    EXPECT_EQ(encode(tokenizer, text, false, false), ids) << GetParam() << " \"" << text << '"';
    ++rows;
  }
  EXPECT_GE(rows, 40u);
}

INSTANTIATE_TEST_SUITE_P(Vocabs, LlamaVectors,
                         ::testing::Values("bert-bge", "deepseek-coder", "deepseek-llm", "falcon", "gemma-4", "gpt-2",
                                           "llama-bpe", "llama-spm", "phi-3", "qwen2"),
                         [](const auto& info) { return parameter_name(info.param); });

std::vector<std::int32_t> joined(std::initializer_list<std::vector<std::int32_t>> parts) {
  std::vector<std::int32_t> out;
  for (const auto& p : parts) out.insert(out.end(), p.begin(), p.end());
  return out;
}

TEST(GgufVocab, an_end_marker_is_special_whatever_type_the_file_gives_it) {
  const VocabSpec spec = gguf_spec("vocabs/phi-3.gguf");
  ASSERT_EQ(spec.tokens[2], "</s>");
  ASSERT_EQ(spec.types[2], 4);  // user-defined, so that a user's text could end the answer
  const auto tokenizer = value_of(Tokenizer::from_vocab(spec));
  EXPECT_TRUE(tokenizer.is_special(2));
  EXPECT_EQ(encode(tokenizer, "</s>", false), std::vector<std::int32_t>{2});
  const auto ordinary = encode(tokenizer, "a</s>b", false, false);
  EXPECT_EQ(std::count(ordinary.begin(), ordinary.end(), 2), 0);
  EXPECT_EQ(tokenizer.decode(ordinary), "a</s>b");
}

// A file that lacks what its kind of vocabulary cuts text by is refused by the key's name; it never gives other ids.
TEST(GgufVocab, LacksNothingThatItsKindNeeds) {
  using Change = void (*)(VocabSpec&);
  const Change no_merges = [](VocabSpec& s) { s.merges.clear(); }, no_scores = [](VocabSpec& s) { s.scores.clear(); },
               no_types = [](VocabSpec& s) { s.types.clear(); }, no_unk = [](VocabSpec& s) { s.unk.reset(); },
               no_cls = [](VocabSpec& s) { s.cls.reset(), s.bos.reset(); },
               no_sep = [](VocabSpec& s) { s.sep.reset(), s.eos.reset(); };
  struct Row {
    const char *file, *key;
    Change change;
  };
  for (const Row& row :
       {Row{"gpt-2", "merges", no_merges}, Row{"llama-bpe", "merges", no_merges}, Row{"gemma-4", "merges", no_merges},
        Row{"gemma-4", "token_type", no_types}, Row{"llama-spm", "scores", no_scores},
        Row{"llama-spm", "token_type", no_types}, Row{"bert-bge", "unknown_token_id", no_unk},
        Row{"bert-bge", "cls_token_id", no_cls}, Row{"bert-bge", "seperator_token_id", no_sep}}) {
    VocabSpec spec = gguf_spec(std::string("vocabs/") + row.file + ".gguf");
    row.change(spec);
    const auto made = Tokenizer::from_vocab(std::move(spec));
    ASSERT_FALSE(made) << row.file << ": " << row.key;
    EXPECT_EQ(made.error().code, Code::CorruptData);
    EXPECT_NE(made.error().text().find(std::string("tokenizer.ggml.") + row.key), std::string::npos)
        << made.error().text();
  }
  VocabSpec t5;
  t5.model = "t5", t5.tokens = {"<unk>", "a"}, t5.scores = {0, -1}, t5.types = {2, 1}, t5.unk = 0;
  EXPECT_TRUE(Tokenizer::from_vocab(t5));
  for (const Change change : {no_scores, no_types, no_unk}) {
    VocabSpec spec = t5;
    change(spec);
    EXPECT_FALSE(Tokenizer::from_vocab(std::move(spec)));
  }
}

// Not said by the file: the markers of Phi-3's tokenizer.json have rstrip, <unk>, <s> and <|endoftext|> have not.
TEST(GgufVocab, markers_of_phi_3_take_the_blanks_behind_them) {
  const auto tokenizer = value_of(Tokenizer::from_vocab(gguf_spec("vocabs/phi-3.gguf")));
  const auto ids = [&](std::string_view text) { return encode(tokenizer, text, false); };
  const std::vector<std::int32_t> hello = ids("hello"), world = ids("world");
  EXPECT_EQ(ids("<|user|>\n \t hello<|end|>  \n<|assistant|>\n"), joined({{32010}, hello, {32007, 32001}}));
  EXPECT_EQ(ids("</s> \u00a0hello"), joined({{2}, hello}));
  for (const auto& [text, id] :
       {std::pair<const char*, std::int32_t>{"<s>", 1}, {"<unk>", 0}, {"<|endoftext|>", 32000}}) {
    EXPECT_EQ(ids(std::string(text) + " hello"), joined({{id}, ids(" hello")}));
    EXPECT_NE(ids(" hello"), hello);
  }
  // Text in front stays as it is, and so does all of it where markers are ordinary text.
  EXPECT_EQ(ids("world  <|end|>"), joined({ids("world  "), {32007}}));
  EXPECT_NE(ids("world  "), world);
  EXPECT_EQ(tokenizer.decode(encode(tokenizer, "<|end|>  a", false, false)), "<|end|>  a");
  VocabSpec other = gguf_spec("vocabs/phi-3.gguf");
  other.blanks_go_with_markers.reset();
  const auto plain = value_of(Tokenizer::from_vocab(std::move(other)));
  EXPECT_EQ(encode(plain, "<|end|> hello", false), joined({{32007}, ids(" hello")}));
}

}  // namespace
}  // namespace loom::text
