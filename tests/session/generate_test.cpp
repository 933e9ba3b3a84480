#include "lm/generate.h"

#include <algorithm>

#include "../support/files.h"

namespace loom {
namespace {

TEST(Generate, X_21_no_end_before_min_tokens) {
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
  EXPECT_EQ(free.stop_reason, "length");
  EXPECT_EQ(free.decode_steps, 5u);  // no forward behind the last token

  // The first token ends the text: by the model, or by the caller. Files may name ids that the vocabulary lacks.
  for (const bool by_model : {true, false}) {
    model->stop_ids = by_model ? std::vector<std::int32_t>{free.ids[0], 1 << 23} : std::vector<std::int32_t>{};
    options.stop_ids = by_model ? std::vector<std::int32_t>{} : std::vector<std::int32_t>{free.ids[0], 1 << 23, -1};
    options.min_tokens = 0;
    const Generation none = run(options);
    EXPECT_EQ(none.stop_reason, "eos");
    EXPECT_TRUE(none.ids.empty());
    options.min_tokens = 3;
    const Generation some = run(options);
    ASSERT_GE(some.ids.size(), 3u);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_NE(some.ids[i], free.ids[0]);
  }
}

// As in llama.cpp: what a model writes behind its end is the next turn of its training texts.
TEST(Generate, X_21_ignore_eos_bans_the_end) {
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
    EXPECT_EQ(all.stop_reason, "length");
    EXPECT_EQ(all.ids.size(), 60u);
    for (const std::int32_t id : model->stop_ids) EXPECT_EQ(std::count(all.ids.begin(), all.ids.end(), id), 0);
  }
}

// A stop string that has only begun when the text ends is text.
TEST(Generate, X_21_half_a_stop_string_is_text) {
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
  EXPECT_EQ(held.stop_reason, "length");
  options.stop = {free.text.substr(0, 2)};
  EXPECT_EQ(run(options).stop_reason, "stop");
}

}  // namespace
}  // namespace loom
