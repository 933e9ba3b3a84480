#include "io/gguf/gguf.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace loom {
namespace {

std::string data_path(const std::string& name) {
  const char* folder = std::getenv("LOOM_DATA");
  return (folder ? std::string(folder) : std::string("LOOM_DATA is not set")) + "/" + name;
}

TEST(Gguf, F_41_reads_a_real_model) {
  const auto file = GgufFile::open(data_path("llm/SmolLM2-135M-Instruct.Q4_1.gguf"));
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->version(), 3u);
  EXPECT_EQ(file->metadata().size(), 33u);
  ASSERT_EQ(file->tensors().size(), 272u);
  ASSERT_TRUE(file->find("general.architecture"));
  EXPECT_EQ(as_string(*file->find("general.architecture")), "llama");
  EXPECT_EQ(as_int(*file->find("llama.block_count")), 30);
  EXPECT_EQ(as_number(*file->find("llama.rope.freq_base")), 100000.0);
  EXPECT_EQ(as_bool(*file->find("tokenizer.ggml.add_bos_token")), false);
  const auto tokens = as_strings(*file->find("tokenizer.ggml.tokens"));
  ASSERT_TRUE(tokens && tokens->size() == 49152);
  EXPECT_EQ((*tokens)[2], "<|im_end|>");
  const auto types = as_ints(*file->find("tokenizer.ggml.token_type"));
  ASSERT_TRUE(types && types->size() == 49152);
  EXPECT_EQ((*types)[0], 3);
  EXPECT_FALSE(file->find("llama.nothing"));
  const GgufTensor* embedding = file->tensor("token_embd.weight");
  ASSERT_TRUE(embedding);
  EXPECT_EQ(embedding->dtype, DType::q8_0);
  ASSERT_EQ(embedding->rank, 2);
  EXPECT_EQ(embedding->dims[0], 49152u);
  EXPECT_EQ(embedding->dims[1], 576u);
  EXPECT_EQ(embedding->offset, 1785664u);
  EXPECT_EQ(embedding->bytes.size(), 49152u * 576 / 32 * 34);
  EXPECT_EQ(file->tensor("blk.0.attn_k.weight")->dtype, DType::q4_1);
  EXPECT_EQ(file->tensor("nothing"), nullptr);
}

}  // namespace
}  // namespace loom
