// llama.cpp's published vectors, and what GGUF vocabularies promise.

#include <sstream>

#include "text/tokenizer/test_data.h"

namespace loom::text {
namespace {

using namespace fixtures;

class LlamaVectors : public ::testing::TestWithParam<const char*> {};

TEST_P(LlamaVectors, X_04_ids_equal_the_published_ones) {
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

INSTANTIATE_TEST_SUITE_P(Vocabs, LlamaVectors, ::testing::Values("bert-bge", "gemma-4", "gpt-2", "llama-bpe", "llama-spm", "phi-3", "qwen2"),
                         [](const auto& info) {
                           std::string n = info.param;
                           for (char& c : n)
                             if (c == '-') c = '_';
                           return n;
                         });

}  // namespace
}  // namespace loom::text
