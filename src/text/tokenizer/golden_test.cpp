// Ids and decoded text of the tokenizers package, for every tokenizer.json of the fixtures and for small ones that
// together use every component. tests/golden/tokenizers/*.hashes are made by tools/golden/tokenizer_ids.py.

#include <sstream>

#include "core/json.h"
#include "text/tokenizer/corpus.h"
#include "text/tokenizer/json_writer.h"
#include "support/paths.h"

namespace loom::text {
namespace {

using namespace fixtures;

constexpr std::uint64_t kFnvStart = 0xCBF29CE484222325u;
constexpr std::size_t kChunk = 100;

void fnv(std::uint64_t& h, std::string_view bytes) {
  for (const char b : bytes) h = (h ^ static_cast<std::uint8_t>(b)) * 0x100000001B3u;
}
void fnv_ids(std::uint64_t& h, const std::vector<std::int32_t>& ids) {
  std::string bytes;
  for (const std::int32_t id : ids)
    for (int k = 0; k < 4; ++k) bytes.push_back(static_cast<char>(static_cast<std::uint32_t>(id) >> (8 * k)));
  fnv(h, bytes + "\xFF\xFF\xFF\xFF");
}

const Corpus& corpus() {
  static const Corpus c;
  return c;
}

std::string golden(const std::string& name) { return test::source_path("tests/golden/tokenizers/") + name; }

void expect_hashes(const Tokenizer& tokenizer, const std::string& name, std::size_t at_least) {
  std::istringstream lines(read_file(golden(name + ".hashes")));
  std::size_t i = 0;
  int wrong = 0;
  for (std::string line; std::getline(lines, line);) {
    std::uint64_t h[4] = {kFnvStart, kFnvStart, kFnvStart, kFnvStart};
    const std::size_t first = i;
    for (; i < first + kChunk; ++i) {
      const std::string text = corpus().text(i);
      const auto ids = encode(tokenizer, text);
      fnv_ids(h[0], ids);
      fnv_ids(h[1], encode(tokenizer, text, false));
      fnv(h[2], to_valid_utf8(tokenizer.decode(ids, {true})) + "\xFF");
      fnv(h[3], to_valid_utf8(tokenizer.decode(ids, {false})) + "\xFF");
    }
    const std::string got = fmt::format("{:016x} {:016x} {:016x} {:016x}", h[0], h[1], h[2], h[3]);
    EXPECT_EQ(got, line) << name << ": strings " << first << ".." << i;
    if (got != line && ++wrong == 3) break;
  }
  EXPECT_GE(i, wrong ? 0 : at_least);
}

class Published : public ::testing::TestWithParam<const char*> {};
TEST_P(Published, ids_and_text_equal_the_tokenizers_package) {
  const std::string name = GetParam();
  const auto tokenizer = value_of(Tokenizer::from_json(read_file(data_path("tokenizers/" + name + "/tokenizer.json"))));
  expect_hashes(tokenizer, name, 20000);
}
INSTANTIATE_TEST_SUITE_P(Json, Published,
                         ::testing::Values("llama2", "llama3", "qwen3", "gemma3", "gpt4o", "deepseek_v3"),
                         [](const auto& info) { return std::string(info.param); });

TEST(GgufVocab, smollm2_equals_the_tokenizers_package) {  // G-102, X-04
  expect_hashes(value_of(Tokenizer::from_vocab(gguf_spec("llm/SmolLM2-135M-Instruct.Q4_1.gguf"))), "smollm2", 20000);
}

// The pre-tokenizer that tokenizer.ggml.pre names, against the steps of the model's own tokenizer.json.
class GgufScheme : public ::testing::TestWithParam<const char*> {};
TEST_P(GgufScheme, ids_and_text_equal_the_tokenizers_package) {
  const std::string name = GetParam();
  expect_hashes(value_of(Tokenizer::from_vocab(gguf_spec("vocabs/" + name + ".gguf"))), name, 20000);
}
INSTANTIATE_TEST_SUITE_P(Gguf, GgufScheme, ::testing::Values("falcon", "deepseek-llm", "deepseek-coder"),
                         [](const auto& info) { return parameter_name(info.param); });

// The tokenizer.json that an export writes of a vocabulary has its ids.
TEST(GgufVocab, SchemesWrittenAsTokenizerJsonEqualTheTokenizersPackage) {
  const std::string name = "deepseek-llm";  // the one with the most steps
  const auto files = write_tokenizer_files(gguf_spec("vocabs/" + name + ".gguf"));
  ASSERT_TRUE(files) << files.error().text();
  expect_hashes(value_of(Tokenizer::from_json(files->tokenizer_json)), name, 20000);
}
TEST(GgufVocab, Smollm2WrittenAsTokenizerJsonEqualsTheTokenizersPackage) {
  const auto files = write_tokenizer_files(gguf_spec("llm/SmolLM2-135M-Instruct.Q4_1.gguf"));
  ASSERT_TRUE(files) << files.error().text();
  expect_hashes(value_of(Tokenizer::from_json(files->tokenizer_json)), "smollm2", 20000);
}
// SentencePiece vocabularies have scores and no merges: the merges that are written cut every text as the scores do.
TEST(GgufVocab, SentencePieceWrittenAsTokenizerJsonHasTheSameIds) {
  for (const char* name : {"llama-spm", "phi-3"}) {
    const VocabSpec spec = gguf_spec(std::string("vocabs/") + name + ".gguf");
    const auto files = write_tokenizer_files(spec);
    ASSERT_TRUE(files) << files.error().text();
    const Tokenizer ours = value_of(Tokenizer::from_vocab(spec)),
                    written = value_of(Tokenizer::from_json(files->tokenizer_json));
    int wrong = 0;
    for (std::size_t i = 0; i < 5000 && wrong < 5; ++i) {
      const std::string text = corpus().text(i);
      if (encode(ours, text) == encode(written, text)) continue;
      ++wrong;
      ADD_FAILURE() << name << ": text " << i << ": " << text;
    }
  }
  for (const char* name : {"bert-bge", "gemma-4"})
    EXPECT_EQ(write_tokenizer_files(gguf_spec(std::string("vocabs/") + name + ".gguf")).error().code,
              Code::Unsupported);
}

// The same vocabulary and merges, once as tokenizer.json and once as a GGUF file would carry them.
TEST(GgufVocab, the_pre_tokenizer_deepseek_v3_equals_its_tokenizer_json) {
  const Json file = value_of(parse_json(read_file(data_path("tokenizers/deepseek_v3/tokenizer.json"))));
  VocabSpec spec;
  spec.model = "gpt2";
  spec.pre = "deepseek-v3";
  const auto put = [&](const std::string& text, std::int64_t id, std::int32_t type) {
    const auto at = static_cast<std::size_t>(id);
    if (spec.tokens.size() <= at) {
      spec.tokens.resize(at + 1);
      spec.types.resize(at + 1, 1);
    }
    spec.tokens[at] = text;
    spec.types[at] = type;
  };
  for (const auto& [text, id] : file["model"]["vocab"].items()) put(text, *as_int(id), 1);
  for (const Json& t : file["added_tokens"])
    put(*as_string(t["content"]), *as_int(t["id"]), *as_bool(t["special"]) ? 3 : 4);
  for (const Json& m : file["model"]["merges"])
    spec.merges.push_back(m.is_array() ? *as_string(m[0]) + " " + *as_string(m[1]) : *as_string(m));
  expect_hashes(value_of(Tokenizer::from_vocab(std::move(spec))), "deepseek_v3", 20000);
}

class Small : public ::testing::TestWithParam<const char*> {};
TEST_P(Small, components_equal_the_tokenizers_package) {
  const std::string name = GetParam();
  const auto tokenizer = value_of(Tokenizer::from_json(read_file(golden(name + ".json"))));
  expect_hashes(tokenizer, name, 4000);
}
INSTANTIATE_TEST_SUITE_P(Json, Small,
                         ::testing::Values("small_bert", "small_wordpiece", "small_roberta", "small_suffix",
                                           "small_prefix", "small_fallback", "small_unigram", "small_unigram_first",
                                           "small_splits"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace loom::text
