#include "lm/generator.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "../support/divided.h"
#include "../support/files.h"

namespace loom {
namespace {

TEST(Generate, no_end_before_min_tokens) {
  auto model = load_language_model(test::source_path("tests/golden/models/llama2_untied"));
  ASSERT_TRUE(model) << model.error().text();
  const std::vector<std::int32_t> prompt = {72, 101, 108};
  const auto run = [&](const GenerationOptions& options) {
    auto session = Session::create(model->decoder, {.threads = 1});
    auto out = generate(**session, *model, prompt, options);
    EXPECT_TRUE(out) << out.error().text();
    return out ? std::move(*out) : Generation();
  };
  GenerationOptions options;
  options.max_tokens = 6;
  const Generation free = run(options);
  ASSERT_EQ(free.ids.size(), 6u);
  EXPECT_EQ(free.stop_reason, StopReason::Length);
  EXPECT_EQ(free.decode_steps, 5u);  // no forward after the last token

  // The first token ends the text: by the model, whose files may name ids that the vocabulary lacks, or by the caller.
  for (const bool by_model : {true, false}) {
    model->stop_ids = by_model ? std::vector<std::int32_t>{free.ids[0], 1 << 23} : std::vector<std::int32_t>{};
    options.stop_ids = by_model ? std::vector<std::int32_t>{} : std::vector<std::int32_t>{free.ids[0]};
    options.min_tokens = 0;
    const Generation none = run(options);
    EXPECT_EQ(none.stop_reason, StopReason::Eos);
    EXPECT_TRUE(none.ids.empty());
    options.min_tokens = 3;
    const Generation some = run(options);
    ASSERT_GE(some.ids.size(), 3u);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_NE(some.ids[i], free.ids[0]);
  }
}

// As in llama.cpp: after its end a model writes the next turn of its training texts.
TEST(Generate, ignore_eos_bans_the_end) {
  auto model = load_language_model(test::source_path("tests/golden/models/llama2_untied"));
  ASSERT_TRUE(model) << model.error().text();
  const std::vector<std::int32_t> prompt = {72, 101, 108};
  const auto run = [&](const GenerationOptions& options) {
    auto session = Session::create(model->decoder, {.threads = 1});
    return generate(**session, *model, prompt, options).value();
  };
  GenerationOptions options;
  options.max_tokens = 8;
  const Generation free = run(options);
  model->stop_ids = {free.ids[0], free.ids[3]};
  for (const float temperature : {0.0f, 2.0f}) {
    options.max_tokens = 60, options.ignore_eos = true;
    options.sampling.temperature = temperature;
    const Generation all = run(options);
    EXPECT_EQ(all.stop_reason, StopReason::Length);
    EXPECT_EQ(all.ids.size(), 60u);
    for (const std::int32_t id : model->stop_ids) EXPECT_EQ(std::count(all.ids.begin(), all.ids.end(), id), 0);
  }
}

// A stop string that has only begun when the text ends is text.
TEST(Generate, half_a_stop_string_is_text) {
  const auto model = load_language_model(test::source_path("tests/golden/models/llama2_untied"));
  ASSERT_TRUE(model) << model.error().text();
  const std::vector<std::int32_t> prompt = {72, 101, 108};
  const auto run = [&](const GenerationOptions& options) {
    auto session = Session::create(model->decoder, {.threads = 1});
    std::string shown;
    Generation out = generate(**session, *model, prompt, options, [&](std::string_view piece) {
                       shown += piece;
                       return true;
                     }).value();
    EXPECT_EQ(shown, out.text);
    return out;
  };
  GenerationOptions options;
  options.max_tokens = 8;
  const Generation free = run(options);
  ASSERT_GT(free.text.size(), 2u);
  options.stop = {free.text.substr(free.text.size() - 2) + "never"};
  const Generation held = run(options);
  EXPECT_EQ(held.text, free.text);
  EXPECT_EQ(held.stop_reason, StopReason::Length);
  options.stop = {free.text.substr(0, 2)};
  EXPECT_EQ(run(options).stop_reason, StopReason::Text);
}

class Stepwise : public testing::Test {
 protected:
  void SetUp() override {
    auto loaded = load_language_model(test::source_path("tests/golden/models/llama2_untied"));
    ASSERT_TRUE(loaded) << loaded.error().text();
    model_ = std::move(*loaded);
    for (int i = 0; i < 300; ++i) prompt_.push_back(72 + i % 30);
  }
  std::unique_ptr<Session> session(SessionOptions options = {}) const {
    if (options.threads == 0) options.threads = 1;
    options.context_tokens = 512;
    return Session::create(model_.decoder, options).value();
  }
  LanguageModel model_;
  std::vector<std::int32_t> prompt_;
};

TEST_F(Stepwise, a_prompt_in_steps_gives_the_bits_of_generate) {
  GenerationOptions options;
  options.max_tokens = 12, options.logprobs = 2;
  const auto whole_session = session(), stepped = session();
  const Generation whole = generate(*whole_session, model_, prompt_, options).value();
  auto generator = Generator::create(*stepped, model_, prompt_, options);
  ASSERT_TRUE(generator) << generator.error().text();
  EXPECT_EQ(stepped->length(), 0u);
  std::vector<std::size_t> read;
  std::string text;
  while (!generator->done()) {
    const auto step = generator->next();
    ASSERT_TRUE(step) << step.error().text();
    if (step->prompt_tokens_read > 0) read.push_back(step->prompt_tokens_read);
    text += step->text;
    EXPECT_EQ(step->done, generator->done());
  }
  EXPECT_EQ(read, (std::vector<std::size_t>{128, 128, 44}));
  const Generation& out = generator->result();
  EXPECT_EQ(out.hash, whole.hash);
  EXPECT_EQ(out.ids, whole.ids);
  EXPECT_EQ(text, whole.text);
  EXPECT_EQ(out.text, whole.text);
  EXPECT_EQ(out.prompt_tokens, 300u);
  ASSERT_EQ(out.logprobs.size(), out.ids.size());
  for (std::size_t i = 0; i < out.ids.size(); ++i) EXPECT_EQ(out.logprobs[i][0].id, out.ids[i]);
  const auto again = generator->next();
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->done && again->text.empty() && again->prompt_tokens_read == 0);
  EXPECT_EQ(generator->result().hash, whole.hash);
}

TEST_F(Stepwise, cancelled_between_two_chunks_leaves_the_session_as_it_was) {
  const auto held = session();
  const std::vector<std::int32_t> first = {72, 101, 108};
  ASSERT_TRUE(held->feed(first));
  auto generator = Generator::create(*held, model_, prompt_, {});
  ASSERT_TRUE(generator) << generator.error().text();
  ASSERT_TRUE(generator->next());
  EXPECT_EQ(held->length(), 131u);
  const std::atomic<bool> cancel{true};
  const auto step = generator->next(&cancel);
  ASSERT_TRUE(step) << step.error().text();
  EXPECT_TRUE(step->done);
  EXPECT_EQ(generator->result().stop_reason, StopReason::Cancelled);
  EXPECT_EQ(held->length(), 3u);
}

TEST_F(Stepwise, a_session_that_somebody_else_fed_is_refused) {
  const auto shared = session();
  auto generator = Generator::create(*shared, model_, prompt_, {});
  ASSERT_TRUE(generator && generator->next());
  ASSERT_TRUE(shared->rewind(5));
  EXPECT_EQ(generator->next().error().code, Code::InvalidState);
}

TEST_F(Stepwise, a_stop_string_spans_pieces) {
  GenerationOptions options;
  options.max_tokens = 12;
  const Generation free = generate(*session(), model_, prompt_, options).value();
  ASSERT_GT(free.text.size(), 5u);
  options.stop = {free.text.substr(1, 4)};
  const Generation stopped = generate(*session(), model_, prompt_, options).value();
  EXPECT_EQ(stopped.stop_reason, StopReason::Text);
  EXPECT_EQ(stopped.text, free.text.substr(0, free.text.find(options.stop[0])));
}

TEST_F(Stepwise, two_threads_generate_on_one_pool) {  // N-11
  GenerationOptions options;
  options.max_tokens = 20;
  const Digest alone = generate(*session(), model_, prompt_, options).value().hash;
  const std::shared_ptr<ThreadPool> pool = ThreadPool::create(2).value();
  const test::ExpectDivided divided;
  std::vector<Digest> hashes(2);
  const auto run = [&](std::size_t i) {
    hashes[i] = generate(*session({.pool = pool}), model_, prompt_, options).value().hash;
  };
  std::thread other(run, std::size_t{1});
  run(0);
  other.join();
  for (const Digest& hash : hashes) EXPECT_EQ(hash, alone);
}

}  // namespace
}  // namespace loom
