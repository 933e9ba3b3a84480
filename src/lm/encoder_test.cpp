#include "lm/encoder.h"

#include "core/json.h"
#include "support/files.h"

namespace loom::encoder_test {
namespace {

std::string minilm() { return test::data_path("minilm"); }

std::vector<TextEmbedding> embedded(TextEncoder& encoder, const std::vector<std::string>& texts) {
  auto result = encoder.embed(texts);
  EXPECT_TRUE(result) << result.error().text();
  return result ? std::move(*result) : std::vector<TextEmbedding>();
}

Result<TextEncoder> loaded(int threads = 1) {
  EncoderOptions options;
  options.session.threads = threads;
  return TextEncoder::load(minilm(), options);
}

// The first example of the documentation of sentence-transformers for all-MiniLM-L6-v2 (sbert.net, "Quickstart").
TEST(Encoder, F_50_cosines_are_those_that_sentence_transformers_publishes) {
  auto encoder = loaded();
  ASSERT_TRUE(encoder) << encoder.error().text();
  const auto v =
      embedded(*encoder, {"The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."});
  ASSERT_EQ(v.size(), 3u);
  EXPECT_NEAR(cosine_of(v[0].values, v[1].values), 0.6660, 5e-5);
  EXPECT_NEAR(cosine_of(v[0].values, v[2].values), 0.1046, 5e-5);
  EXPECT_NEAR(cosine_of(v[1].values, v[2].values), 0.1411, 5e-5);
}

TEST(Encoder, F_55_vectors_are_those_of_transformers) {
  auto encoder = loaded();
  ASSERT_TRUE(encoder) << encoder.error().text();
  const Json golden = test::read_json(test::source_path("tests/golden/encoder.json"));
  std::vector<std::string> texts;
  for (const Json& row : golden["texts"]) texts.push_back(*as_string(row["text"]));
  ASSERT_EQ(texts.size(), 8u);
  const auto vectors = embedded(*encoder, texts);
  ASSERT_EQ(vectors.size(), texts.size());
  for (std::size_t t = 0; t < texts.size(); ++t) {
    SCOPED_TRACE(texts[t].substr(0, 30));
    EXPECT_EQ(vectors[t].tokens, static_cast<std::size_t>(*as_int(golden["texts"][t]["tokens"])));
    const std::vector<double> wanted = test::numbers_of(golden["texts"][t]["every_eighth"]);
    ASSERT_EQ(vectors[t].values.size(), 8 * wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i)
      ASSERT_NEAR(static_cast<double>(vectors[t].values[8 * i]), wanted[i], 1e-6) << i;
  }
  EXPECT_TRUE(vectors.back().is_truncated);
  EXPECT_EQ(vectors.back().tokens, 512u);
  EXPECT_FALSE(vectors.front().is_truncated);
}

TEST(Encoder, N_01_a_text_has_the_same_bits_alone_among_others_and_with_threads) {
  auto one = loaded(1), three = loaded(3);
  ASSERT_TRUE(one && three);
  std::vector<std::string> texts;
  for (int i = 0; i < 40; ++i) texts.push_back("text number " + std::to_string(i % 13) + std::string(i % 3, '!'));
  const auto all = embedded(*one, texts), threaded = embedded(*three, texts);
  for (std::size_t i = 0; i < texts.size(); i += 7) {
    EXPECT_EQ(all[i].values, embedded(*one, {texts[i]})[0].values) << i;
    EXPECT_EQ(all[i].values, threaded[i].values) << i;
  }
}

TEST(Encoder, F_51_every_tensor_is_accounted_for) {
  const auto encoder = loaded();
  ASSERT_TRUE(encoder);
  EXPECT_EQ(encoder->report().tensors.size(), 104u);
  std::size_t left_out = 0;
  for (const TensorReport& t : encoder->report().tensors) {
    EXPECT_NE(t.paths.empty(), t.reason.empty()) << t.name;
    left_out += !t.reason.empty();
  }
  EXPECT_EQ(left_out, 4u);  // numbers of positions, types, two of the pooler
}

TEST(Encoder, F_53_keys_that_change_numbers_are_honoured_or_refused) {
  const Json good = test::read_json(minilm() + "/config.json");
  ASSERT_TRUE(encoder_config_from_json(good));
  const auto code = [&](const char* key, const Json& value) {
    Json changed = good;
    changed[key] = value;
    const auto config = encoder_config_from_json(changed);
    return config ? Code::Busy : config.error().code;  // Busy: no error
  };
  EXPECT_EQ(code("model_type", "roberta"), Code::Unsupported);
  EXPECT_EQ(code("position_embedding_type", "relative_key"), Code::Unsupported);
  EXPECT_EQ(code("is_decoder", true), Code::Unsupported);
  EXPECT_EQ(code("embedding_size", 128), Code::UnknownKey);
  EXPECT_EQ(code("hidden_size", 0), Code::InvalidConfig);
  EXPECT_EQ(code("hidden_size", -1), Code::InvalidConfig);
  EXPECT_EQ(code("num_attention_heads", 7), Code::InvalidConfig);
  EXPECT_EQ(code("num_hidden_layers", 100000), Code::LimitExceeded);
  EXPECT_EQ(code("layer_norm_eps", "small"), Code::InvalidConfig);
  EXPECT_EQ(code("torch_dtype", "float32"), Code::Busy);
  Json without = good;
  without.erase("vocab_size");
  EXPECT_FALSE(encoder_config_from_json(without));
  EXPECT_FALSE(encoder_config_from_json(Json::array()));
}

// A copy of the folder with one file changed.
class EncoderFolder : public testing::Test {
 protected:
  void SetUp() override {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(minilm(), error)) {
      const std::string to = folder_ / entry.path().filename().string();
      if (entry.is_directory())
        std::filesystem::copy(entry.path(), to, error);
      else
        std::filesystem::create_symlink(entry.path(), to, error);
      ASSERT_FALSE(error) << error.message();
    }
  }
  void change(const std::string& name, const std::string& text) {
    std::filesystem::remove(folder_ / name);
    test::write_all(folder_ / name, text);
  }
  Error error() const {
    const auto encoder = TextEncoder::load(folder_.path());
    EXPECT_FALSE(encoder);
    return encoder ? Error{} : encoder.error();
  }
  test::TempFolder folder_;
};

TEST_F(EncoderFolder, F_54_modules_that_are_not_supported_are_refused_by_name) {
  change("modules.json", R"([{"type":"sentence_transformers.models.Transformer","path":""},
    {"type":"sentence_transformers.models.Dense","path":"1_Dense"}])");
  EXPECT_EQ(error().code, Code::Unsupported);
  EXPECT_NE(error().text().find("Dense"), std::string::npos);
  change("modules.json", R"([{"type":"x.Transformer","path":""},{"type":"x.Pooling","path":"../../etc"}])");
  EXPECT_EQ(error().code, Code::OutOfRange);
  change("modules.json", "{}");
  EXPECT_EQ(error().code, Code::CorruptData);
}

TEST_F(EncoderFolder, F_53_a_longest_text_of_its_own_is_honoured) {
  change("sentence_bert_config.json", R"({"max_seq_length": 16, "do_lower_case": false})");
  auto encoder = TextEncoder::load(folder_.path());
  ASSERT_TRUE(encoder) << encoder.error().text();
  EXPECT_EQ(encoder->max_tokens(), 16u);
  const auto v = embedded(*encoder, {std::string(400, 'x') + " a b c d e f g h i j k l m n o p q"});
  EXPECT_EQ(v[0].tokens, 16u);
  EXPECT_TRUE(v[0].is_truncated);
}

TEST_F(EncoderFolder, F_51_files_that_do_not_fit_each_other_are_errors) {
  Json config = test::read_json(minilm() + "/config.json");
  config["num_hidden_layers"] = 5;
  change("config.json", dump_json(config));
  EXPECT_NE(error().text().find("encoder.layer.5."), std::string::npos) << error().text();
  config["num_hidden_layers"] = 7;
  change("config.json", dump_json(config));
  EXPECT_NE(error().text().find("encoder.layer.6."), std::string::npos) << error().text();
  config["num_hidden_layers"] = 6, config["intermediate_size"] = 1000;
  change("config.json", dump_json(config));
  EXPECT_EQ(error().code, Code::ShapeMismatch);
  config["vocab_size"] = 100;
  change("config.json", dump_json(config));
  EXPECT_EQ(error().code, Code::InvalidConfig);
}

}  // namespace
}  // namespace loom::encoder_test
