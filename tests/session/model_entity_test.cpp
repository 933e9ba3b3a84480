// A language model as one .entity: the bits of its source, one file for equal contents, damage that is named.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "../support/small_model.h"
#include "io/entity/entity_reseal.h"
#include "lm/kv_file.h"
#include "lm/language_model.h"
#include "lm/model_entity.h"
#include "lm/session.h"

namespace loom {
namespace {

std::string logits_hash(const std::string& path, std::optional<DType> dtype = std::nullopt) {
  ModelOptions options;
  options.threads = 2, options.decoder.dtype = dtype;
  const auto model = load_language_model(path, options);
  if (!model) return model.error().text();
  SessionOptions session_options;
  session_options.context_tokens = 64, session_options.threads = 1;
  auto session = Session::create(model->decoder, session_options);
  if (!session) return session.error().text();
  std::vector<std::int32_t> ids;
  for (std::int32_t i = 0; i < 20; ++i)
    ids.push_back(static_cast<std::int32_t>((i * 37 + 5) % model->decoder->config.vocab_size));
  const auto logits = (*session)->feed(ids);
  if (!logits) return logits.error().text();
  Sha256 hash;
  hash.update_floats(*logits);
  return to_hex(hash.finish());
}

Result<Digest> convert(const std::string& from, const std::string& to, std::optional<DType> dtype = std::nullopt,
                       int threads = 2) {
  LOOM_TRY(const ModelContents model, read_model(from));
  ModelEntityOptions options;
  options.threads = threads, options.dtype = dtype;
  return write_model_entity(to, model, options);
}

class ModelEntity : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new test::TempFolder;
    const auto written = test::write_small_model(small());
    ASSERT_TRUE(written) << written.error().text();
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  static std::string temp(const std::string& name) { return *folder_ / name; }
  static std::string small() { return temp("small.gguf"); }

 private:
  static inline test::TempFolder* folder_ = nullptr;
};

TEST_F(ModelEntity, gguf_gives_the_same_logits_tokenizer_and_template) {  // F-04, F-31
  ASSERT_TRUE(convert(small(), temp("a.entity")));
  EXPECT_EQ(logits_hash(temp("a.entity")), logits_hash(small()));
  const auto a = load_language_model(small()).value(), b = load_language_model(temp("a.entity")).value();
  EXPECT_EQ(b.format, ModelFormat::Entity);
  EXPECT_EQ(a.stop_ids, b.stop_ids);
  EXPECT_EQ(a.bos_token, b.bos_token);
  EXPECT_EQ(a.eos_token, b.eos_token);
  ASSERT_TRUE(a.chat_template && b.chat_template);
  std::vector<std::int32_t> x, y;
  const std::string text = "Hello <|im_start|>w\xc3\xb6rld\n 123 \xe4\xbd\xa0";
  ASSERT_TRUE(a.tokenizer->encode(text, {}, x) && b.tokenizer->encode(text, {}, y));
  EXPECT_EQ(x, y);
  const auto alone = load_tokenizer(temp("a.entity"));
  ASSERT_TRUE(alone) << alone.error().text();
  ASSERT_TRUE((*alone)->encode(text, {}, y));
  EXPECT_EQ(x, y);
}

// BitNet's packed matrices have one scale, which is written once.
TEST_F(ModelEntity, BitNetAnswersAsItsFolder) {
  for (const char* name : {"bitnet_multiplied", "bitnet_divided"}) {
    const std::string from = test::source_path(std::string("tests/golden/models/") + name), to = temp("bitnet.entity");
    const auto converted = convert(from, to);
    ASSERT_TRUE(converted) << converted.error().text();
    EXPECT_EQ(logits_hash(to), logits_hash(from)) << name;
    const auto again = convert(to, temp("again.entity"));
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_EQ(*again, *converted) << name;
  }
}

TEST_F(ModelEntity, every_type_gives_the_logits_of_its_conversion_on_load) {  // F-04
  const std::string source = test::source_path("tests/golden/models/qwen2_biases");
  for (const DType t : {DType::float64, DType::float32, DType::bfloat16, DType::fp8e4m3, DType::int16, DType::uint8,
                        DType::int4, DType::fp4, DType::ternary, DType::binary}) {
    const std::string path = temp("typed.entity");
    const auto written = convert(source, path, t);
    ASSERT_TRUE(written) << name(t) << ": " << written.error().text();
    const std::string expected = logits_hash(source, t);
    EXPECT_EQ(expected.size(), 64u) << expected;
    EXPECT_EQ(logits_hash(path), expected) << name(t);
  }
}

TEST_F(ModelEntity, block_formats_on_request) {  // D-26
  ASSERT_TRUE(convert(small(), temp("q4_0.entity"), DType::q4_0));
  EXPECT_EQ(logits_hash(temp("q4_0.entity")), logits_hash(small(), DType::q4_0));
}

TEST_F(ModelEntity, hugging_face_folders_of_every_architecture) {  // F-04
  for (const char* model : {"llama2_no_gqa", "llama2_untied", "llama3_scaled", "llama_biases", "llama_linear",
                            "llama_yarn", "mistral_window", "qwen2_biases", "qwen3_head_norm"}) {
    const std::string folder = test::source_path(std::string("tests/golden/models/") + model), path = temp("hf.entity");
    const auto written = convert(folder, path);
    ASSERT_TRUE(written) << model << ": " << written.error().text();
    const std::string expected = logits_hash(folder);
    EXPECT_EQ(expected.size(), 64u) << expected;
    EXPECT_EQ(logits_hash(path), expected) << model;
  }
}

TEST_F(ModelEntity, equal_contents_give_equal_bytes) {  // F-03
  for (const auto& [source, t] :
       {std::pair(small(), std::optional<DType>()),
        std::pair(test::source_path("tests/golden/models/llama_biases"), std::optional(DType::int8))}) {
    ASSERT_TRUE(convert(source, temp("a.entity"), t, 1));
    ASSERT_TRUE(convert(source, temp("b.entity"), t, 3));
    ASSERT_TRUE(convert(temp("a.entity"), temp("c.entity")));
    EXPECT_EQ(test::read_all(temp("a.entity")), test::read_all(temp("b.entity")));
    EXPECT_EQ(test::read_all(temp("a.entity")), test::read_all(temp("c.entity")));
  }
}

TEST_F(ModelEntity, the_licence_goes_with_the_model) {  // F-31
  ModelContents model = read_model(small()).value();
  model.licence = "Apache-2.0";
  ASSERT_TRUE(write_model_entity(temp("a.entity"), model));
  EXPECT_EQ(read_model(temp("a.entity"))->licence, "Apache-2.0");
  ASSERT_TRUE(convert(temp("a.entity"), temp("b.entity")));
  EXPECT_EQ(test::read_all(temp("a.entity")), test::read_all(temp("b.entity")));
  model.licence.clear();
  ASSERT_TRUE(write_model_entity(temp("a.entity"), model));
  EXPECT_EQ(EntityReader::open(temp("a.entity"))->find("licence"), nullptr);
}

TEST_F(ModelEntity, a_flipped_bit_is_named) {  // F-32
  ASSERT_TRUE(convert(small(), temp("a.entity"), DType::float32));
  const std::string good = test::read_all(temp("a.entity"));
  EXPECT_NE(EntityReader::open(temp("a.entity"))->find("weights", 1), nullptr);  // several sections
  for (std::size_t i = 1; i < 40; ++i) {
    std::string bad = good;
    bad[good.size() * i / 40] = static_cast<char>(bad[good.size() * i / 40] ^ 16);
    test::write_all(temp("bad.entity"), bad);
    const auto model = load_language_model(temp("bad.entity"));
    ASSERT_FALSE(model) << i;
    EXPECT_EQ(model.error().code, Code::CorruptData) << model.error().text();
    EXPECT_NE(model.error().text().find("bad.entity"), std::string::npos) << model.error().text();
  }
}

// Tensors are repacked beside the check of hashes: damage is reported as damage, also where it makes numbers infinite.
TEST_F(ModelEntity, damage_that_makes_numbers_infinite_is_reported_as_damage) {  // F-32
  ASSERT_TRUE(convert(small(), temp("a.entity"), DType::float16));
  const std::string good = test::read_all(temp("a.entity"));
  const EntitySection weights = *EntityReader::open(temp("a.entity"))->find("weights");
  for (const int threads : {1, 2})
    for (std::size_t i = 0; i < 4; ++i) {
      std::string bad = good;
      const std::size_t at = weights.offset + (good.size() - weights.offset) / 4 * i / 64 * 64;
      bad.replace(at, 32, 32, '\xff');
      test::write_all(temp("bad.entity"), bad);
      ModelOptions options;
      options.threads = threads;
      const auto model = load_language_model(temp("bad.entity"), options);
      ASSERT_FALSE(model) << i;
      EXPECT_EQ(model.error().code, Code::CorruptData) << model.error().text();
      EXPECT_NE(model.error().text().find("SHA-256 differs"), std::string::npos) << model.error().text();
    }
}

// A prompt that was read once, in a file of its own and in the model's.
TEST_F(ModelEntity, a_kept_prompt_goes_on_with_the_same_bits) {  // F-32, X-24
  ASSERT_TRUE(convert(small(), temp("a.entity")));
  const std::string model_alone = test::read_all(temp("a.entity"));
  const auto model = load_language_model(small()).value(), same = load_language_model(temp("a.entity")).value();
  std::vector<std::int32_t> prompt, next = {17, 300};
  for (std::int32_t i = 0; i < 200; ++i) prompt.push_back((i * 91 + 7) % 49152);
  for (const DType kv : {DType::float32, DType::int8}) {
    SessionOptions options;
    options.context_tokens = 256, options.threads = 2, options.sequences = 2, options.kv_dtype = kv;
    const auto reader = Session::create(model.decoder, options).value();
    ASSERT_TRUE(reader->prefill(prompt, 1));
    ASSERT_TRUE(save_kv(*reader, temp("prompt.entity"), 1));
    ASSERT_TRUE(save_kv(*reader, temp("a.entity"), 1));
    const auto expected = reader->feed(next, 1);
    ASSERT_TRUE(expected);
    // The model that carries it is the model it was, and the file says the same when it is written again.
    EXPECT_EQ(logits_hash(temp("a.entity")), logits_hash(small()));
    for (const char* file : {"prompt.entity", "a.entity"}) {
      const auto other = Session::create(same.decoder, options).value();
      const auto loaded = load_kv(*other, temp(file));
      ASSERT_TRUE(loaded) << loaded.error().text();
      EXPECT_EQ(other->length(), prompt.size());
      const auto logits = other->feed(next);
      ASSERT_TRUE(logits);
      EXPECT_TRUE(std::ranges::equal(*logits, *expected)) << file;
    }
    // Other settings, another model, no such section.
    options.kv_dtype = DType::bfloat16;
    const auto wrong = Session::create(model.decoder, options).value();
    EXPECT_EQ(load_kv(*wrong, temp("a.entity")).error().code, Code::ShapeMismatch);
    EXPECT_EQ(wrong->length(), 0u);
    test::write_all(temp("alone.entity"), model_alone);
    EXPECT_EQ(load_kv(*wrong, temp("alone.entity")).error().code, Code::NotFound);
    EXPECT_EQ(load_kv(*wrong, temp("nothing.entity")).error().code, Code::NotFound);
    EXPECT_EQ(load_kv(*wrong, small()).error().code, Code::CorruptData);
    EXPECT_EQ(save_kv(*wrong, temp("x.entity"), 2).error().code, Code::OutOfRange);
  }
  // A flipped bit in it is found when it is asked for, and the model loads without it.
  std::string bad = test::read_all(temp("a.entity"));
  const EntitySection kept = *EntityReader::open(temp("a.entity"))->find("kvcache");
  bad[kept.offset + kept.length / 2] ^= 8;
  test::write_all(temp("bad.entity"), bad);
  const auto loaded = load_language_model(temp("bad.entity"));
  ASSERT_TRUE(loaded) << loaded.error().text();
  const auto session = Session::create(loaded->decoder, {.threads = 1, .context_tokens = 256}).value();
  EXPECT_EQ(load_kv(*session, temp("bad.entity")).error().code, Code::CorruptData);
}

TEST_F(ModelEntity, of_a_sequence_stays_what_the_prompt_begins_with) {
  const auto model = load_language_model(small()).value();
  const auto session = Session::create(model.decoder, {.threads = 1, .context_tokens = 64}).value();
  const std::vector<std::int32_t> held = {5, 6, 7, 8}, longer = {5, 6, 7, 8, 9}, other = {5, 6, 1, 2}, none = {3};
  const auto kept = [&](std::span<const std::int32_t> prompt) {
    EXPECT_TRUE(session->truncate(0) && session->prefill(held));
    const auto n = keep_common(*session, prompt);
    EXPECT_TRUE(n);
    EXPECT_EQ(session->length(), *n);
    return *n;
  };
  EXPECT_EQ(kept(longer), 4u);
  EXPECT_EQ(kept(held), 3u) << "the last one is fed for its logits";
  EXPECT_EQ(kept(other), 2u);
  EXPECT_EQ(kept(none), 0u);
  EXPECT_EQ(kept({}), 0u);
  EXPECT_EQ(keep_common(*session, held, 1).error().code, Code::OutOfRange);
}

// With every hash made right again, the code after these checks is reached too.
TEST_F(ModelEntity, damage_under_right_hashes_is_an_error_or_another_model) {  // F-01
  ASSERT_TRUE(convert(test::source_path("tests/golden/models/llama2_untied"), temp("a.entity")));
  const std::string good = test::read_all(temp("a.entity"));
  const auto reader = EntityReader::open(temp("a.entity")).value();
  for (const char* kind : {"network", "tensors"}) {
    const EntitySection& s = *reader.find(kind);
    for (std::uint64_t i = 0; i < s.length; i += s.length / 97 + 1) {
      std::vector<std::byte> bad(good.size());
      std::memcpy(bad.data(), good.data(), good.size());
      bad[static_cast<std::size_t>(s.offset + i)] ^= std::byte{1};
      reseal(bad);
      const auto file = EntityReader::parse(bad);
      ASSERT_TRUE(file) << file.error().text();
      const auto model = parse_model_entity(*file);
      EXPECT_TRUE(model || !model.error().text().empty());
    }
  }
}

TEST_F(ModelEntity, configs_come_back_field_by_field) {  // F-31
  for (const char* model : {"llama3_scaled", "llama_yarn", "mistral_window", "qwen3_head_norm"}) {
    const ModelConfig config =
        read_model(test::source_path(std::string("tests/golden/models/") + model)).value().source.config;
    const Json json = config_to_entity(config);
    const auto back = config_from_entity(json);
    ASSERT_TRUE(back) << back.error().text();
    EXPECT_EQ(config_to_entity(*back), json);
    for (const auto& [key, value] : json.items()) {
      if (key == "rope_attention_factor") continue;
      Json less = json;
      less.erase(key);
      const auto bad = config_from_entity(less);
      ASSERT_FALSE(bad) << key;
      EXPECT_NE(bad.error().text().find(key), std::string::npos) << bad.error().text();
    }
    Json more = json;
    more["surprise"] = 1;
    EXPECT_EQ(config_from_entity(more).error().code, Code::UnknownKey);
  }
}

TEST_F(ModelEntity, a_network_and_a_model_are_told_apart) {
  const auto network = load_language_model(test::source_path("tests/golden/small.entity"));
  ASSERT_FALSE(network);
  EXPECT_EQ(network.error().code, Code::Unsupported);
}

TEST_F(ModelEntity, a_cancelled_conversion_leaves_nothing) {  // N-12
  const ModelContents model = read_model(test::source_path("tests/golden/models/llama_biases")).value();
  for (const std::optional<DType> t : {std::optional<DType>(), std::optional(DType::int8)}) {
    ModelEntityOptions options;
    options.dtype = t, options.threads = 1;
    options.progress = [](std::size_t done, std::size_t) { return done < 3; };
    const auto written = write_model_entity(temp("none.entity"), model, options);
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().code, Code::Cancelled);
    EXPECT_FALSE(is_file(temp("none.entity")));
    EXPECT_EQ(test::leftovers(temp("")), std::vector<std::string>());
  }
}

// Inside a tensor: src/dtypes/stop_test.cpp counts what lies between two questions.
TEST_F(ModelEntity, a_conversion_that_is_cancelled_inside_a_tensor_leaves_nothing) {  // N-12
  const ModelContents model = read_model(test::source_path("tests/golden/models/llama_biases")).value();
  for (const std::optional<DType> t : {std::optional<DType>(), std::optional(DType::ternary),
                                       std::optional(DType::int4), std::optional(DType::uint16)}) {
    std::size_t asked = 0;
    for (const std::size_t last : {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{40}}) {
      ModelEntityOptions options;
      options.dtype = t, options.threads = 1;
      std::size_t count = 0;
      options.stop = [&] { return ++count == last; };
      const auto written = write_model_entity(temp("stopped.entity"), model, options);
      if (last == 0) {
        ASSERT_TRUE(written) << written.error().text();
        asked = count;
        std::remove(temp("stopped.entity").c_str());
        continue;
      }
      ASSERT_GT(asked, last);
      ASSERT_FALSE(written) << last;
      EXPECT_EQ(written.error().code, Code::Cancelled);
      EXPECT_TRUE(written.error().text().ends_with("interrupted; nothing was written")) << written.error().text();
      EXPECT_EQ(count, last);
      EXPECT_EQ(test::leftovers(temp("")), std::vector<std::string>());
    }
  }
}

}  // namespace
}  // namespace loom
