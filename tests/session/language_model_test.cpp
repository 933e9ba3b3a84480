// These models' files differ from what their config announces, or cannot be read: tensors, a tied head, ends of a turn,
// a tokenizer, a template.

#include "lm/language_model.h"

#include <atomic>

#include "../support/small_model.h"
#include "core/little_endian.h"
#include "host/prompt.h"
#include "io/safetensors/safetensors.h"
#include "lm/generator.h"
#include "ops/rope/rope.h"

namespace loom {
namespace {

using Floats = std::vector<float>;

GenerationOptions tokens(std::size_t count) {
  GenerationOptions options;
  options.max_tokens = count;
  return options;
}

// A golden model's folder with one more tensor of f32, or another one where the name is taken.
Result<LanguageModel> with_tensor(const std::string& model, const std::string& name, std::vector<std::size_t> shape,
                                  const Floats& values) {
  const std::string from = test::source_path("tests/golden/models/" + model);
  const test::TempFolder folder;
  LOOM_TRY(const auto opened, SafetensorsModel::open(from));
  SafetensorsWriter writer;
  for (const SafeTensor* t : opened.tensors())
    if (t->name != name) LOOM_TRY_VOID(writer.add(t->name, t->dtype, t->shape, t->bytes));
  LOOM_TRY_VOID(writer.add(name, DType::float32, std::move(shape), std::as_bytes(std::span(values))));
  LOOM_TRY_VOID(writer.write(folder / "model.safetensors"));
  for (const char* file : {"config.json", "tokenizer.json"})
    test::write_all(folder / file, test::read_all(from + "/" + file));
  return load_language_model(folder.path());
}

Floats decoded(const std::string& model, const std::string& name) {
  auto opened = SafetensorsModel::open(test::source_path("tests/golden/models/" + model));
  const SafeTensor* t = opened ? opened->tensor(name) : nullptr;
  if (t == nullptr || t->dtype != DType::float32) return {};
  Floats out(t->bytes.size() / 4);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = load_le<float>(t->bytes.data() + 4 * i);
  return out;
}

// transformers leaves them out with a warning.
TEST(LanguageModel, tensors_that_the_config_does_not_announce_are_refused) {  // F-51
  const std::string layer = "model.layers.0.";
  struct Case {
    const char* model;
    std::string name;
    std::size_t size;
  };
  for (const Case& c : {Case{"llama2_untied", layer + "self_attn.q_proj.bias", 48},
                        {"llama2_untied", layer + "self_attn.o_proj.bias", 48},
                        {"llama2_untied", layer + "mlp.gate_proj.bias", 80},
                        {"llama2_untied", layer + "self_attn.q_norm.weight", 12},
                        {"llama2_untied", layer + "mlp.ffn_sub_norm.weight", 80},
                        {"qwen2_biases", layer + "self_attn.o_proj.bias", 48}}) {
    const auto loaded = with_tensor(c.model, c.name, {c.size}, Floats(c.size, 0.5f));
    ASSERT_FALSE(loaded) << c.model << " " << c.name;
    EXPECT_EQ(loaded.error().code, Code::Unsupported) << loaded.error().text();
    EXPECT_NE(loaded.error().text().find(c.name), std::string::npos) << loaded.error().text();
  }
}

TEST(LanguageModel, a_tied_head_that_is_stored_too) {  // F-51
  Floats table = decoded("llama_yarn", "model.embed_tokens.weight");
  ASSERT_FALSE(table.empty());
  const std::vector<std::size_t> shape = {256, table.size() / 256};
  EXPECT_TRUE(with_tensor("llama_yarn", "lm_head.weight", shape, table));
  table.back() += 1;
  const auto other = with_tensor("llama_yarn", "lm_head.weight", shape, table);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Code::Unsupported);
  EXPECT_NE(other.error().text().find("lm_head.weight differs from the embedding"), std::string::npos)
      << other.error().text();
  table.resize(shape[1]);
  EXPECT_FALSE(with_tensor("llama_yarn", "lm_head.weight", {1, shape[1]}, table));
}

// The factor of cos and sin, which is what position 0 shows: transformers takes 1 for factors up to 1.
TEST(LanguageModel, yarn_sharpens_only_what_it_stretches) {  // L-73
  const auto amplitude = [](double factor, double attention_factor) {
    RopeConfig c;
    c.dim = 8, c.scaling = RopeConfig::Scaling::Yarn, c.factor = factor, c.attention_factor = attention_factor;
    auto table = RopeTable::create(c, 1).value();
    table.fill(1);
    return table.row(0)[0];
  };
  EXPECT_EQ(amplitude(0.5, 0), 1.0f);
  EXPECT_EQ(amplitude(1, 0), 1.0f);
  EXPECT_FLOAT_EQ(amplitude(4, 0), 1.13862944f);  // 0.1 ln 4 + 1
  EXPECT_EQ(amplitude(0.5, 1.25), 1.25f);
  EXPECT_EQ(amplitude(4, 1.25), 1.25f);
}

class SmallModel : public testing::Test {
 protected:
  // SmolLM2's first block with some keys changed.
  Result<LanguageModel> with(const std::function<void(GgufWriter&)>& change, const ModelOptions& options = {}) {
    LOOM_TRY_VOID(test::write_small_model(folder_ / "small.gguf"));
    LOOM_TRY(const GgufFile file, GgufFile::open(folder_ / "small.gguf"));
    GgufWriter writer;
    for (const GgufValue& value : file.metadata()) writer.copy(value);
    change(writer);
    for (const GgufTensor& t : file.tensors()) LOOM_TRY_VOID(writer.add_tensor(t.name, t.dtype, t.shape(), t.bytes));
    LOOM_TRY_VOID(writer.write(folder_ / "changed.gguf"));
    return load_language_model(folder_ / "changed.gguf", options);
  }
  test::TempFolder folder_;
};

TEST_F(SmallModel, ends_of_a_turn_are_found_by_text) {
  const auto as_published = with([](GgufWriter&) {});
  ASSERT_TRUE(as_published) << as_published.error().text();
  EXPECT_EQ(as_published->stop_ids, (std::vector<std::int32_t>{0, 2}));  // <|endoftext|>, <|im_end|>
  const auto misnamed = with([](GgufWriter& w) { w.set("tokenizer.ggml.eos_token_id", std::uint32_t{0}); });
  ASSERT_TRUE(misnamed) << misnamed.error().text();
  EXPECT_EQ(misnamed->stop_ids, (std::vector<std::int32_t>{0, 2}));
  const auto other = with([](GgufWriter& w) { w.set("tokenizer.ggml.eos_token_id", std::uint32_t{17}); });
  ASSERT_TRUE(other) << other.error().text();
  EXPECT_EQ(other->stop_ids, (std::vector<std::int32_t>{0, 2, 17}));
}

// The whole model: with its end of a turn misnamed it wrote on, as the next "user".
TEST(LanguageModel, an_answer_ends_where_it_should_though_the_file_names_another_token) {
  const test::TempFolder folder;
  {
    const auto file = GgufFile::open(test::smollm2());
    ASSERT_TRUE(file) << file.error().text();
    GgufWriter writer;
    for (const GgufValue& value : file->metadata()) writer.copy(value);
    writer.set("tokenizer.ggml.eos_token_id", std::uint32_t{0});
    for (const GgufTensor& t : file->tensors()) ASSERT_TRUE(writer.add_tensor(t.name, t.dtype, t.shape(), t.bytes));
    ASSERT_TRUE(writer.write(folder / "misnamed.gguf"));
  }
  const auto model = load_language_model(folder / "misnamed.gguf");
  ASSERT_TRUE(model) << model.error().text();
  const auto session = Session::create(model->decoder, {.context_tokens = 128});
  const std::vector<std::int32_t> prompt = make_prompt(*model, {.text = "What is the capital of France?"}).value().ids;
  const auto answer = generate(**session, *model, prompt, tokens(40));
  ASSERT_TRUE(answer) << answer.error().text();
  EXPECT_EQ(answer->text, "The capital of France is Paris.");
  EXPECT_EQ(answer->stop_reason, StopReason::Eos);
}

TEST_F(SmallModel, a_template_that_does_not_parse_blocks_only_what_needs_it) {
  const auto model = with([](GgufWriter& w) { w.set("tokenizer.chat_template", "{% if"); });
  ASSERT_TRUE(model) << model.error().text();
  EXPECT_TRUE(model->need_tokenizer());
  for (const auto& error : {model->need_template().error(), render_prompt(*model, {.text = "Hello"}).error()}) {
    EXPECT_EQ(error.code, Code::TemplateError) << error.text();
    EXPECT_EQ(error.text().rfind((folder_ / "changed.gguf") + ": chat template: ", 0), 0u) << error.text();
  }
  const auto session = Session::create(model->decoder, {.threads = 1, .context_tokens = 16});
  const std::vector<std::int32_t> prompt = {28, 29};
  EXPECT_TRUE(generate(**session, *model, prompt, tokens(2)));
}

TEST_F(SmallModel, a_tokenizer_that_cannot_be_read_leaves_token_ids) {
  const auto model = with([](GgufWriter& w) { w.set("tokenizer.ggml.pre", "of another day"); });
  ASSERT_TRUE(model) << model.error().text();
  EXPECT_EQ(model->need_tokenizer().error().code, Code::Unsupported);
  EXPECT_NE(model->need_tokenizer().error().text().find("of another day"), std::string::npos);
  const auto session = Session::create(model->decoder, {.threads = 1, .context_tokens = 16});
  const std::vector<std::int32_t> ids = {28, 29};
  EXPECT_TRUE((*session)->feed(ids));
  const auto plain = with([](GgufWriter& w) { w.set("tokenizer.ggml.model", ""); });
  ASSERT_TRUE(plain) << plain.error().text();
  EXPECT_EQ(plain->need_tokenizer().error().code, Code::NotFound);
}

TEST_F(SmallModel, keys_of_the_tokenizer_have_their_types) {  // F-41
  const auto code = [&](const std::function<void(GgufWriter&)>& change) {
    const auto loaded = with(change);
    return loaded ? Code{} : loaded.error().code;
  };
  EXPECT_EQ(code([](GgufWriter& w) { w.set("tokenizer.ggml.add_bos_token", std::uint8_t{1}); }), Code::InvalidConfig);
  EXPECT_EQ(code([](GgufWriter& w) { w.set("tokenizer.ggml.bos_token_id", std::int32_t{1}); }), Code::InvalidConfig);
  EXPECT_EQ(code([](GgufWriter& w) { w.set("tokenizer.ggml.unknown_token_id", std::uint64_t{1}); }),
            Code::InvalidConfig);
  EXPECT_EQ(code([](GgufWriter& w) { w.set("tokenizer.ggml.merges", std::vector<std::int32_t>{1}); }),
            Code::InvalidConfig);
  EXPECT_EQ(code([](GgufWriter& w) { w.set("tokenizer.ggml.token_type", std::vector<float>(49152, 1.0f)); }),
            Code::InvalidConfig);
  EXPECT_EQ(code([](GgufWriter& w) { w.set("tokenizer.chat_template", true); }), Code::InvalidConfig);
  // -1, as some write
  EXPECT_EQ(code([](GgufWriter& w) { w.set("tokenizer.ggml.padding_token_id", ~std::uint32_t{0}); }), Code{});
}

TEST_F(SmallModel, a_load_that_quantises_ends_when_it_is_cancelled) {
  const std::atomic<bool> cancel{true};
  for (const std::optional<DType> t : {std::optional<DType>(), std::optional(DType::int4),
                                       std::optional(DType::ternary), std::optional(DType::q4_0)}) {
    ModelOptions options;
    options.decoder.dtype = t, options.decoder.cancel = &cancel;
    const auto cancelled = with([](GgufWriter&) {}, options);
    ASSERT_FALSE(cancelled);
    EXPECT_EQ(cancelled.error().code, Code::Cancelled) << cancelled.error().text();
    EXPECT_TRUE(cancelled.error().text().ends_with("loading was cancelled")) << cancelled.error().text();
  }
}

TEST_F(SmallModel, a_prompt_that_is_cancelled_leaves_the_session_as_it_was) {
  const auto model = with([](GgufWriter&) {});
  ASSERT_TRUE(model) << model.error().text();
  const auto session = Session::create(model->decoder, {.threads = 1, .context_tokens = 64});
  const std::vector<std::int32_t> first = {28, 29}, second = {30, 31, 32};
  ASSERT_TRUE((*session)->feed(first));
  const std::atomic<bool> cancel{true};
  const auto cancelled = generate(**session, *model, second, tokens(4), {}, &cancel);
  ASSERT_TRUE(cancelled) << cancelled.error().text();
  EXPECT_EQ(cancelled->stop_reason, StopReason::Cancelled);
  EXPECT_TRUE(cancelled->ids.empty());
  EXPECT_EQ((*session)->length(), 2u);
  EXPECT_EQ(generate(**session, *model, second, tokens(4))->ids.size(), 4u);
}

}  // namespace
}  // namespace loom
