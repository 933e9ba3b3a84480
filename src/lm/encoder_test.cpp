#include "lm/encoder.h"

#include <filesystem>

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
TEST(Encoder, cosines_are_those_that_sentence_transformers_publishes) {  // F-50
  auto encoder = loaded();
  ASSERT_TRUE(encoder) << encoder.error().text();
  const auto v =
      embedded(*encoder, {"The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."});
  ASSERT_EQ(v.size(), 3u);
  EXPECT_NEAR(cosine_of(v[0].values, v[1].values), 0.6660, 5e-5);
  EXPECT_NEAR(cosine_of(v[0].values, v[2].values), 0.1046, 5e-5);
  EXPECT_NEAR(cosine_of(v[1].values, v[2].values), 0.1411, 5e-5);
}

TEST(Encoder, vectors_are_those_of_transformers) {  // F-55
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

TEST(Encoder, a_text_has_the_same_bits_alone_among_others_and_with_threads) {  // N-01
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

TEST(Encoder, every_tensor_is_accounted_for) {  // F-51
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

TEST(Encoder, keys_that_change_numbers_are_honoured_or_refused) {  // F-53
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

TEST_F(EncoderFolder, modules_that_are_not_supported_are_refused_by_name) {  // F-54
  change("modules.json", R"([{"type":"sentence_transformers.models.Transformer","path":""},
    {"type":"sentence_transformers.models.Dense","path":"1_Dense"}])");
  EXPECT_EQ(error().code, Code::Unsupported);
  EXPECT_NE(error().text().find("Dense"), std::string::npos);
  change("modules.json", R"([{"type":"x.Transformer","path":""},{"type":"x.Pooling","path":"1_Pooling"},
    {"type":"sentence_transformers.models.LayerNorm","path":"2_LayerNorm"}])");
  EXPECT_EQ(error().code, Code::Unsupported);
  EXPECT_NE(error().text().find("LayerNorm"), std::string::npos);
  change("modules.json", R"([{"type":"x.Transformer","path":""},{"type":"x.Pooling","path":"../../etc"}])");
  EXPECT_EQ(error().code, Code::OutOfRange);
  change("modules.json", "{}");
  EXPECT_EQ(error().code, Code::CorruptData);
}

TEST_F(EncoderFolder, a_longest_text_of_its_own_is_honoured) {  // F-53
  change("sentence_bert_config.json", R"({"max_seq_length": 16, "do_lower_case": false})");
  auto encoder = TextEncoder::load(folder_.path());
  ASSERT_TRUE(encoder) << encoder.error().text();
  EXPECT_EQ(encoder->max_tokens(), 16u);
  const auto v = embedded(*encoder, {std::string(400, 'x') + " a b c d e f g h i j k l m n o p q"});
  EXPECT_EQ(v[0].tokens, 16u);
  EXPECT_TRUE(v[0].is_truncated);
}

TEST_F(EncoderFolder, files_that_do_not_fit_each_other_are_errors) {  // F-51
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
  config["intermediate_size"] = 1536, config["vocab_size"] = 100;
  change("config.json", dump_json(config));
  EXPECT_EQ(error().code, Code::ShapeMismatch);
}

// A folder of a small BERT whose default prompt is "query: ", with one file changed.
class Prompts : public ::testing::Test {
 protected:
  Prompts() {
    folder_ = temp_.path();
    std::filesystem::copy(test::source_path("tests/golden/encoders/prompts"), folder_,
                          std::filesystem::copy_options::recursive | std::filesystem::copy_options::overwrite_existing);
  }
  // Sets a key of a file and embeds "hello".
  Result<std::vector<float>> with(const std::string& file, const std::string& key, const Json& value,
                                  EncoderOptions options = {}) {
    const std::string path = folder_ + "/" + file, before = test::read_all(path);
    Json json = before.empty() ? Json::object() : parse_json(before).value();
    if (!key.empty()) json[key] = value;
    test::write_all(path, dump_json(json));
    auto vector = embedded(std::move(options), "hello");
    if (before.empty())
      std::filesystem::remove(path);
    else
      test::write_all(path, before);
    return vector;
  }
  Result<std::vector<float>> embedded(EncoderOptions options, const std::string& text) {
    options.session.threads = 1;
    LOOM_TRY(TextEncoder encoder, TextEncoder::load(folder_, options));
    LOOM_TRY(auto vectors, encoder.embed(std::vector<std::string>{text}));
    return std::move(vectors[0].values);
  }
  test::TempFolder temp_;
  std::string folder_;
};

TEST_F(Prompts, GoBeforeEveryTextByDefaultByNameAndByText) {
  EncoderOptions none, document, own, unknown;
  none.prompt = "", document.prompt_name = "document", own.prompt = "passage: ", unknown.prompt_name = "passage";
  const auto by_default = embedded({}, "hello"), written = embedded(none, "query: hello"),
             plain = embedded(none, "hello");
  ASSERT_TRUE(by_default && written && plain) << by_default.error().text();
  EXPECT_EQ(*by_default, *written);
  EXPECT_NE(*by_default, *plain);
  EXPECT_EQ(embedded(document, "hello").value(), *plain);
  EXPECT_EQ(embedded(own, "hello").value(), embedded(none, "passage: hello").value());
  const auto refused = embedded(unknown, "hello");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::UnknownName);
  EXPECT_NE(refused.error().text().find("document, query"), std::string::npos) << refused.error().text();
}

TEST_F(Prompts, EveryKeyOfTheSmallFilesIsReadHarmlessOrRefusedByName) {
  const std::string ours = "config_sentence_transformers.json", pooling = "1_Pooling/config.json",
                    bert = "sentence_bert_config.json", tokenizer = "tokenizer_config.json";
  struct Row {
    std::string file, key;
    Json value;
    enum { Same, Other, Refused } effect;
  };
  const auto plain = embedded({}, "hello");
  ASSERT_TRUE(plain) << plain.error().text();
  for (const Row& row : {Row{ours, "default_prompt_name", nullptr, Row::Other},
                         Row{ours, "default_prompt_name", "nobody", Row::Refused},
                         Row{ours, "prompts", {{"query", "a "}}, Row::Other},
                         Row{ours, "prompts", {{"query", 1}}, Row::Refused},
                         Row{ours, "similarity_fn_name", "dot", Row::Same},
                         Row{ours, "__version__", {{"transformers", "5"}}, Row::Same},
                         Row{ours, "model_type", "SparseEncoder", Row::Refused},
                         Row{ours, "a_key_of_tomorrow", 1, Row::Refused},
                         Row{pooling, "include_prompt", false, Row::Other},
                         Row{pooling, "include_prompt", true, Row::Same},
                         Row{pooling, "pooling_mode", "cls", Row::Other},
                         Row{pooling, "pooling_mode", "lasttoken", Row::Refused},
                         Row{pooling, "pooling_mode_max_tokens", true, Row::Refused},  // two side by side
                         Row{pooling, "pooling_mode_lasttoken", true, Row::Refused},
                         Row{pooling, "word_embedding_dimension", 9, Row::Refused},
                         Row{pooling, "embedding_dimension", 9, Row::Refused},
                         Row{pooling, "a_key_of_tomorrow", 1, Row::Refused},
                         Row{bert, "max_seq_length", 3, Row::Other},
                         Row{bert, "do_lower_case", true, Row::Refused},
                         Row{bert, "transformer_task", "fill-mask", Row::Refused},
                         Row{bert, "module_output_name", "sentence_embedding", Row::Refused},
                         Row{bert, "modality_config", {{"text", 1}}, Row::Same},
                         Row{bert, "a_key_of_tomorrow", 1, Row::Refused},
                         Row{tokenizer, "do_lower_case", 1, Row::Refused},
                         Row{tokenizer, "model_max_length", 3, Row::Same}}) {  // max_seq_length goes first
    SCOPED_TRACE(row.file + ": " + row.key + " " + dump_json(row.value));
    const auto vector = with(row.file, row.key, row.value);
    ASSERT_EQ(!vector, row.effect == Row::Refused) << (vector ? "accepted" : vector.error().text());
    if (vector)
      EXPECT_EQ(*vector == *plain, row.effect == Row::Same);
    else
      EXPECT_NE(vector.error().text().find(row.key), std::string::npos) << vector.error().text();
  }
  std::filesystem::remove(folder_ + "/" + bert);
  EXPECT_NE(with(tokenizer, "model_max_length", 3).value(), *plain);
}

// As transformers 5.24 cuts "HELLO" with each of these: into [UNK] where letters stay as they are.
TEST_F(Prompts, BertClassesTakeTheLettersOfTokenizerConfig) {
  const auto lower = embedded({}, "hello"), upper = embedded({}, "HELLO");
  ASSERT_TRUE(lower && upper);
  EXPECT_EQ(*lower, *upper);
  const auto with_settings = [&](const char* settings) {
    test::write_all(folder_ + "/tokenizer_config.json", settings);
    return embedded({}, "HELLO").value();
  };
  EXPECT_NE(with_settings(R"({"tokenizer_class": "BertTokenizer", "do_lower_case": false})"), *lower);
  EXPECT_NE(with_settings(R"({"do_lower_case": false})"), *lower);
  EXPECT_EQ(with_settings(R"({"tokenizer_class": "BertTokenizer", "do_lower_case": true})"), *lower);
  EXPECT_EQ(with_settings(R"({"tokenizer_class": "PreTrainedTokenizerFast", "do_lower_case": false})"), *lower);
}

TEST_F(Prompts, AFileIsNoFolderOfAnEncoder) {
  const auto loaded = TextEncoder::load(folder_ + "/model.safetensors");
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, Code::Unsupported);
  EXPECT_NE(loaded.error().text().find("folder of a BERT"), std::string::npos) << loaded.error().text();
}

}  // namespace
}  // namespace loom::encoder_test
