// Encoders with Dense modules: their vectors beside torch's, and every key of a module's config.

#include <gtest/gtest.h>

#include <filesystem>

#include "lm/encoder.h"
#include "support/files.h"

namespace loom::encoder_modules_test {
namespace {

std::string base() { return test::source_path("tests/golden/encoders/"); }

// The small BERT with the modules of a folder over it.
void lay_out(const std::string& name, const std::string& to) {
  constexpr auto kOver = std::filesystem::copy_options::recursive | std::filesystem::copy_options::overwrite_existing;
  std::filesystem::copy(base() + "prompts", to, kOver);
  std::filesystem::copy(base() + "dense/" + name, to, kOver);
}

// Vectors that torch computes (tools/golden/encoder_dense.py); sums in f32 of two dozen terms at most.
TEST(EncoderModules, DenseModulesGiveTheVectorsOfTorch) {
  const Json golden = test::read_json(base() + "dense.json");
  ASSERT_GE(golden["folders"].size(), 13u);
  std::vector<std::string> texts;
  for (const Json& text : golden["texts"]) texts.push_back(text.get<std::string>());
  for (const auto& [name, expected] : golden["folders"].items()) {
    SCOPED_TRACE(name);
    const test::TempFolder folder;
    lay_out(name, folder.path());
    auto encoder = TextEncoder::load(folder.path());
    ASSERT_TRUE(encoder) << encoder.error().text();
    const auto vectors = encoder->embed(texts);
    ASSERT_TRUE(vectors) << vectors.error().text();
    for (std::size_t t = 0; t < texts.size(); ++t) {
      EXPECT_EQ(encoder->dimensions(), expected[t].size());
      ASSERT_EQ((*vectors)[t].values.size(), expected[t].size());
      for (std::size_t i = 0; i < expected[t].size(); ++i)
        EXPECT_NEAR((*vectors)[t].values[i], expected[t][i].get<double>(), 2e-6) << texts[t] << " " << i;
    }
  }
}

// The vectors of "hello" where a key of the Dense module's config is another, or missing.
Result<std::vector<TextEmbedding>> with(const char* key, const std::optional<Json>& value) {
  const test::TempFolder folder;
  lay_out("tanh", folder.path());
  const std::string file = folder / "2_Dense/config.json";
  Json config = test::read_json(file);
  if (value)
    config[key] = *value;
  else
    config.erase(key);
  test::write_all(file, dump_json(config));
  LOOM_TRY(TextEncoder encoder, TextEncoder::load(folder.path()));
  return encoder.embed(std::vector<std::string>{"hello"});
}

TEST(EncoderModules, EveryKeyOfADenseModuleIsReadOrRefused) {
  const auto code = [&](const char* key, const Json& value) {
    const auto done = with(key, value);
    return done ? Code::Busy : done.error().code;  // Busy: no error
  };
  EXPECT_EQ(code("in_features", 7), Code::ShapeMismatch);
  EXPECT_EQ(code("out_features", 7), Code::ShapeMismatch);
  EXPECT_EQ(code("out_features", 0), Code::InvalidConfig);
  EXPECT_NE(code("bias", false), Code::Busy) << "the tensor of the bias has no place";
  EXPECT_EQ(code("bias", "yes"), Code::InvalidConfig);
  EXPECT_EQ(code("activation_function", "torch.nn.modules.activation.Softsign"), Code::Unsupported);
  EXPECT_EQ(code("activation_function", "os.Tanh"), Code::Unsupported);
  EXPECT_EQ(code("activation_function", 3), Code::Unsupported);
  EXPECT_EQ(code("module_input_name", "token_embeddings"), Code::Unsupported);
  EXPECT_EQ(code("module_output_name", "other"), Code::Unsupported);
  EXPECT_EQ(code("module_input_name", "sentence_embedding"), Code::Busy);
  EXPECT_EQ(code("module_output_name", nullptr), Code::Busy);
  EXPECT_EQ(code("colour", 1), Code::UnknownKey);
  const auto values = [](const std::optional<Json>& activation) {
    const auto done = with("activation_function", activation);
    EXPECT_TRUE(done) << done.error().text();
    return done ? (*done)[0].values : std::vector<float>();
  };
  const auto tanh = values("torch.nn.modules.activation.Tanh");
  EXPECT_EQ(values(std::nullopt), tanh) << "as sentence-transformers does without the key";
  EXPECT_NE(values("torch.nn.modules.activation.ReLU"), tanh);
  EXPECT_NE(values(nullptr), tanh);
  EXPECT_EQ(values(nullptr), values("torch.nn.modules.linear.Identity"));
}

}  // namespace
}  // namespace loom::encoder_modules_test
