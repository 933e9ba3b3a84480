#include "finetune/finetune.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "lm/language_model.h"
#include "lm/model_entity.h"
#include "lm/session.h"

namespace loom {
namespace {

constexpr const char* kModel = LOOM_SOURCE_DIR "/tests/golden/models/llama2_untied";

DecoderModel open_model() {
  const auto pool = ThreadPool::create(1).value();
  const auto source = read_source(kModel);
  EXPECT_TRUE(source) << (source ? "" : source.error().message);
  auto model = build_decoder(*source, *pool, {});
  EXPECT_TRUE(model) << (model ? "" : model.error().message);
  return std::move(*model);
}

std::unique_ptr<TokenWindows> windows(const DecoderModel& model, std::size_t count = 2000) {
  std::vector<std::int32_t> ids;
  for (std::size_t i = 0; i < count; ++i) ids.push_back(static_cast<std::int32_t>(i * i % 7 * 3 % static_cast<std::size_t>(model.config.vocab_size)));
  return TokenWindows::create(std::move(ids), 16, static_cast<std::size_t>(model.config.vocab_size), "pattern").value();
}

FinetuneConfig small_config(int threads = 2) {
  FinetuneConfig config;
  config.adapter.rank = 4;
  config.batch_size = 8, config.micro_batch = 4, config.steps = 12, config.schedule.learning_rate = 0.02, config.schedule.warmup_steps = 2;
  config.session.threads = threads;
  return config;
}

std::vector<float> logits(const std::shared_ptr<const DecoderModel>& shared) {
  SessionOptions options;
  options.threads = 1, options.context_tokens = 32;
  const auto session = Session::create(shared, options).value();
  const std::vector<std::int32_t> ids = {1, 5, 9, 2, 7};
  const auto out = session->feed(ids).value();
  return {out.begin(), out.end()};
}
std::vector<float> logits(DecoderModel model) { return logits(std::make_shared<const DecoderModel>(std::move(model))); }

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "loom_finetune_XXXXXX").string();
    path = mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string path;
};

TEST(Finetune, L_141_learns_a_text_with_the_same_bits_whatever_runs_it) {
  std::optional<Digest> first;
  for (const Isa isa : usable_isas())
    for (const int threads : {1, 3}) {
      DecoderModel model = open_model();
      FinetuneConfig config = small_config(threads);
      config.session.isa = isa;
      const auto result = finetune(model, *windows(model), config);
      ASSERT_TRUE(result) << result.error().message;
      EXPECT_EQ(result->steps, 12u);
      EXPECT_LT(result->validation_after, 0.8 * result->validation_before);
      EXPECT_NEAR(result->validation_before, std::log(static_cast<double>(model.config.vocab_size)), 1.5);
      if (!first) first = result->hash;
      EXPECT_EQ(result->hash, *first) << name(isa) << " " << threads;
    }
}

TEST(Finetune, L_141_fresh_adapters_leave_every_answer_as_it_was) {
  DecoderModel model = open_model();
  const std::vector<float> before = logits(open_model());
  ASSERT_TRUE(add_peft(model, {}, 7));
  EXPECT_EQ(logits(std::move(model)), before);
}

TEST(Finetune, L_141_adapters_survive_their_files_and_can_be_switched) {
  DecoderModel model = open_model();
  FinetuneConfig config = small_config();
  config.steps = 3;
  ASSERT_TRUE(finetune(model, *windows(model), config));
  const Folder folder;
  const auto saved = save_peft(model, config.adapter, folder.path, kModel);
  ASSERT_TRUE(saved) << saved.error().message;
  DecoderModel again = open_model(), off = open_model();
  const auto read = load_peft(again, folder.path, "x");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->rank, 4u);
  EXPECT_EQ(read->targets, config.adapter.targets);
  const std::vector<float> base = logits(open_model()), tuned = logits(std::move(model));
  EXPECT_NE(tuned, base);
  EXPECT_EQ(logits(std::move(again)), tuned);
  ASSERT_TRUE(load_peft(off, folder.path, "x"));
  ASSERT_TRUE(enable_peft(off, "x", false));
  EXPECT_EQ(logits(std::move(off)), base);
  ModelOptions options;
  options.adapters = {folder.path};
  const auto loaded = load_language_model(kModel, options);
  EXPECT_TRUE(loaded) << (loaded ? "" : loaded.error().message);
}

TEST(Finetune, L_141_a_merged_adapter_answers_as_the_two_apart) {
  DecoderModel model = open_model();
  FinetuneConfig config = small_config();
  config.adapter.targets = {"q_proj", "k_proj", "o_proj", "down_proj"};
  ASSERT_TRUE(finetune(model, *windows(model), config));
  const Folder folder;
  ASSERT_TRUE(save_peft(model, config.adapter, folder.path, kModel));
  const std::vector<float> base = logits(open_model()), apart = logits(std::move(model));
  const auto contents = read_model(kModel);
  ASSERT_TRUE(contents);
  auto delta = PeftDelta::read(folder.path, contents->source.config);
  ASSERT_TRUE(delta) << delta.error().message;
  for (const auto& [dtype, bound] : {std::pair{DType::float32, 2e-5f}, std::pair{DType::int16, 2e-3f}}) {
    const std::string path = folder.path + "/merged.entity";
    const auto written = write_model_entity(path, *contents, {.threads = 2, .dtype = dtype, .adapter = &*delta, .progress = {}});
    ASSERT_TRUE(written) << written.error().message;
    const auto merged = load_language_model(path);
    ASSERT_TRUE(merged) << merged.error().message;
    const std::vector<float> together = logits(merged->decoder);
    float largest = 0, moved = 0, apart_by = 0;
    for (std::size_t i = 0; i < base.size(); ++i) {
      largest = std::max(largest, std::fabs(apart[i])), moved = std::max(moved, std::fabs(apart[i] - base[i]));
      apart_by = std::max(apart_by, std::fabs(together[i] - apart[i]));
    }
    EXPECT_LT(apart_by, bound * largest) << name(dtype);
    EXPECT_GT(moved, 0.1f * largest);
  }
  ModelConfig other = contents->source.config;
  other.num_hidden_layers = 1;
  EXPECT_EQ(PeftDelta::read(folder.path, other).error().code, Code::Unsupported);
}

TEST(Finetune, L_141_what_does_not_fit_is_an_error) {
  DecoderModel model = open_model();
  EXPECT_EQ(add_peft(model, {.targets = {"lm_head"}}, 0).error().code, Code::UnknownName);
  const Folder folder;
  EXPECT_FALSE(load_peft(model, folder.path, "x"));
  EXPECT_EQ(enable_peft(model, "nobody", true).error().code, Code::NotFound);
  EXPECT_EQ(save_peft(model, {}, folder.path).error().code, Code::NotFound);
  EXPECT_EQ(TokenWindows::create({1, 2, 3}, 3, 10, "short").error().code, Code::ShapeMismatch);
  EXPECT_EQ(TokenWindows::create({1, 2, 30}, 2, 10, "wide").error().code, Code::IndexOutOfRange);
}

TEST(Ties, L_102_a_frozen_table_stays_frozen_for_those_tied_to_it) {
  Weight table, head;
  ASSERT_TRUE(table.declare("table", WeightRole::Matrix, std::array<std::size_t, 2>{4, 3}));
  ASSERT_TRUE(head.declare("weight", WeightRole::Matrix, std::array<std::size_t, 2>{4, 3}));
  ASSERT_TRUE(head.tie(table));
  table.freeze(true);
  EXPECT_TRUE(head.is_frozen());
}

}  // namespace
}  // namespace loom
