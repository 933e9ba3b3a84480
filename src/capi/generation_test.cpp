// Options of answers in loom.h: each field changes something, or is refused.

#include <gtest/gtest.h>
#include <loom/loom.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "capi/capi_test.h"
#include "core/json.h"
#include "support/files.h"
#include "support/small_model.h"

namespace loom::capi_generation_test {
namespace {

using test::sized;
using test::take;

struct Written {
  std::vector<std::int32_t> ids;
  loom_stop stop = LOOM_STOP_NOT_YET;
  std::uint64_t prompt_tokens = 0;
  Json logprobs, replay;
};

class CapiGeneration : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(test::write_small_model(path_));
    ASSERT_EQ(loom_model_open(path_.c_str(), nullptr, &model_), LOOM_OK) << loom_last_error();
  }
  void TearDown() override { loom_release(model_); }
  loom_session session() {
    loom_session s = 0;
    EXPECT_EQ(loom_session_create(model_, nullptr, &s), LOOM_OK) << loom_last_error();
    return s;
  }
  static loom_generation_options base() {
    auto options = sized<loom_generation_options>();
    options.max_tokens = 8, options.ignore_eos = 1;
    return options;
  }
  Written write(const loom_generation_options& options) {
    const loom_session s = session();
    loom_generator g = 0;
    EXPECT_EQ(loom_generator_from_text(s, "one two three", 13, LOOM_PROMPT_RAW, &options, &g), LOOM_OK)
        << loom_last_error();
    for (auto step = sized<loom_step>(); step.stop == LOOM_STOP_NOT_YET;)
      if (loom_generator_next(g, 0, &step) != LOOM_OK) {
        ADD_FAILURE() << loom_last_error();
        break;
      }
    auto whole = sized<loom_generation>();
    EXPECT_EQ(loom_generator_result(g, &whole), LOOM_OK) << loom_last_error();
    Written out{{whole.ids, whole.ids + whole.ids_count}, whole.stop, whole.prompt_tokens, {}, {}};
    loom_blob blob = 0;
    if (options.logprobs != 0) {
      EXPECT_EQ(loom_generator_logprobs(g, &blob), LOOM_OK) << loom_last_error();
      out.logprobs = parse_json(take(blob)).value_or(Json());
    } else {
      EXPECT_EQ(loom_generator_logprobs(g, &blob), LOOM_INVALID_STATE);
    }
    EXPECT_EQ(loom_generator_receipt(g, &blob), LOOM_OK) << loom_last_error();
    const std::string receipt = take(blob);
    EXPECT_EQ(loom_receipt_replay(receipt.data(), receipt.size(), nullptr, nullptr, nullptr, 0, &blob), LOOM_OK)
        << loom_last_error() << receipt;
    out.replay = parse_json(take(blob)).value_or(Json());
    for (const loom_handle handle : {g, s}) EXPECT_EQ(loom_release(handle), LOOM_OK);
    return out;
  }
  loom_status refused(const loom_generation_options& options) {
    const loom_session s = session();
    loom_generator g = 0;
    const loom_status status = loom_generator_from_text(s, "one", 3, LOOM_PROMPT_RAW, &options, &g);
    EXPECT_EQ(loom_release(s), LOOM_OK);
    if (status == LOOM_OK) loom_release(g);
    return status;
  }
  test::TempFolder folder_;
  std::string path_ = folder_ / "model.gguf";
  loom_model model_ = 0;
};

TEST_F(CapiGeneration, PromptOnlyReadsThePromptAndDrawsNothing) {
  auto options = base();
  EXPECT_EQ(write(options).ids.size(), 8u);
  options.prompt_only = 1;
  EXPECT_EQ(refused(options), LOOM_INVALID_ARGUMENT);
  options.max_tokens = 0;
  const Written none = write(options);
  EXPECT_TRUE(none.ids.empty());
  EXPECT_EQ(none.stop, LOOM_STOP_LENGTH);
  EXPECT_GT(none.prompt_tokens, 0u);
  EXPECT_EQ(none.replay["equal"], true) << none.replay.dump();
}

TEST_F(CapiGeneration, EverySettingOfAPromptChangesItOrIsRefusedByName) {
  const char* const kTemplate =
      "{{ messages[0].content }}|{{ tools }}|{{ x }}|{% if strftime_now is defined %}{{ strftime_now('%Y') }}{% endif "
      "%}";
  const auto prompt = [&](loom_generation_options options, loom_prompt_form form = LOOM_PROMPT_CHAT,
                          const std::string& text = "one") {
    loom_blob blob = 0;
    const bool made = loom_model_prompt(model_, text.data(), text.size(), form, &options, &blob) == LOOM_OK;
    return made ? parse_json(take(blob)).value_or(Json()) : Json(loom_last_error());
  };
  auto base = sized<loom_generation_options>();
  base.chat_template = kTemplate;
  const Json plain = prompt(base);
  EXPECT_EQ(plain["prompt"], "one|None||");
  EXPECT_EQ(plain["ids"].size(), plain["prompt_tokens"]);
  const auto with = [&](auto change) {
    auto options = base;
    change(options);
    return options;
  };
  const std::pair<const char*, loom_generation_options> settings[] = {
      {"tools", with([](auto& o) { o.tools = R"([{"name": "f"}])"; })},
      {"template_variables", with([](auto& o) { o.template_variables = R"({"x": 5})"; })},
      {"date", with([](auto& o) { o.date = "2026-11-28"; })},
      {"plain_text", with([](auto& o) { o.plain_text = 1; })},
      {"chat_template", with([](auto& o) { o.chat_template = "chatml"; })},
  };
  const loom_session s = session();
  for (const auto& [name, given] : settings) {
    if (std::string_view(name) != "plain_text") {
      EXPECT_NE(prompt(given)["prompt"], plain["prompt"]) << name;
    }
    auto alone = given;
    if (std::string_view(name) != "chat_template") alone.chat_template = nullptr;
    const Json refused = prompt(alone, LOOM_PROMPT_RAW);
    EXPECT_TRUE(as_string(refused)->starts_with(name)) << refused;
    loom_generator g = 0;
    const std::int32_t id = 1;
    EXPECT_EQ(loom_generator_create(s, &id, 1, &alone, &g), LOOM_INVALID_ARGUMENT);
    EXPECT_TRUE(std::string_view(loom_last_error()).starts_with(name)) << loom_last_error();
  }
  loom_release(s);
  EXPECT_EQ(prompt(settings[1].second)["prompt"], "one|None|5|");
  EXPECT_EQ(prompt(settings[2].second)["prompt"], "one|None||2026");
  const std::string messages = R"([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}])";
  base.chat_template = "{% for m in messages %}{{ m.content }};{% endfor %}";
  EXPECT_EQ(prompt(base, LOOM_PROMPT_MESSAGES, messages)["prompt"], "a;b;");
  base.continue_final_message = 1;
  EXPECT_EQ(prompt(base, LOOM_PROMPT_MESSAGES, messages)["prompt"], "a;b");
  EXPECT_TRUE(prompt(base).is_string()) << "there is no message to continue";
  for (const auto& wrong :
       {with([](auto& o) { o.tools = "{"; }), with([](auto& o) { o.tools = "5"; }),
        with([](auto& o) { o.template_variables = "[]"; }),
        with([](auto& o) { o.template_variables = R"({"tools": 1})"; }), with([](auto& o) { o.date = "yesterday"; }),
        with([](auto& o) { o.chat_template = "none"; })})
    EXPECT_TRUE(prompt(wrong).is_string());
}

TEST_F(CapiGeneration, AChatTakesToolsDateVariablesAndATemplate) {
  auto options = base();
  options.chat_template =
      "{% for m in messages %}{{ m.content }};{% endfor %}{{ tools[0].name }}{{ x }}"
      "{{ strftime_now('%Y') }}";
  options.tools = R"([{"name": "f"}])", options.template_variables = R"({"x": 5})", options.date = "2026-11-28";
  const loom_session s = session();
  loom_chat chat = 0;
  ASSERT_EQ(loom_chat_create(s, nullptr, &options, &chat), LOOM_OK) << loom_last_error();
  ASSERT_EQ(loom_chat_say(chat, "one", 3, 0), LOOM_OK) << loom_last_error();
  for (auto step = sized<loom_step>(); step.stop == LOOM_STOP_NOT_YET;)
    ASSERT_EQ(loom_chat_next(chat, 0, &step), LOOM_OK) << loom_last_error();
  loom_blob receipt = 0;
  ASSERT_EQ(loom_chat_receipt(chat, &receipt), LOOM_OK) << loom_last_error();
  EXPECT_EQ(parse_json(take(receipt)).value()["prompt"]["text"], "one;f52026");
  loom_release(chat);
  options.continue_final_message = 1;
  EXPECT_EQ(loom_chat_create(s, nullptr, &options, &chat), LOOM_INVALID_ARGUMENT);
  loom_release(s);
}

TEST_F(CapiGeneration, ATextOfMoreThanFourContextsEndsTheEncoding) {
  auto options = sized<loom_session_options>();
  options.context_tokens = 16;
  loom_session s = 0;
  ASSERT_EQ(loom_session_create(model_, &options, &s), LOOM_OK) << loom_last_error();
  const std::string text(4000, 'a');
  loom_generator g = 0;
  for (const loom_prompt_form form : {LOOM_PROMPT_RAW, LOOM_PROMPT_CHAT}) {
    EXPECT_EQ(loom_generator_from_text(s, text.data(), text.size(), form, nullptr, &g), LOOM_CONTEXT_FULL);
    EXPECT_STREQ(loom_last_error(), "the prompt has more than 64 tokens, the context holds 16");
  }
  loom_release(s);
}

TEST_F(CapiGeneration, BiasesMoveTheChoiceAndTheReceiptHoldsThem) {
  auto options = base();
  const Written plain = write(options);
  const std::int32_t liked[] = {plain.ids[0] == 5 ? 6 : 5};
  const float much[] = {1e6f}, never[] = {-std::numeric_limits<float>::infinity()};
  options.bias_ids = liked, options.bias_ids_count = 1, options.biases = much, options.biases_count = 1;
  const Written biased = write(options);
  EXPECT_EQ(biased.ids, std::vector<std::int32_t>(8, liked[0]));
  EXPECT_EQ(biased.replay["equal"], true) << biased.replay.dump();
  options.bias_ids = &plain.ids[0], options.biases = never;
  const Written without = write(options);
  EXPECT_EQ(std::count(without.ids.begin(), without.ids.end(), plain.ids[0]), 0);
  EXPECT_EQ(without.replay["equal"], true) << without.replay.dump();
  options.biases_count = 0;
  EXPECT_EQ(refused(options), LOOM_SHAPE_MISMATCH);
  const std::int32_t beyond[] = {1 << 30};
  options.bias_ids = beyond, options.biases = much, options.biases_count = 1;
  EXPECT_EQ(refused(options), LOOM_INVALID_ARGUMENT);
}

TEST_F(CapiGeneration, StopIdsEndTheTextAndTheReceiptHoldsThem) {
  auto options = base();
  options.ignore_eos = 0;
  const Written plain = write(options);
  ASSERT_GT(plain.ids.size(), 1u);
  const std::int32_t end = plain.ids.back();
  options.stop_ids = &end, options.stop_ids_count = 1;
  const Written stopped = write(options);
  EXPECT_EQ(stopped.stop, LOOM_STOP_EOS);
  EXPECT_LT(stopped.ids.size(), plain.ids.size());
  EXPECT_EQ(stopped.replay["equal"], true) << stopped.replay.dump();
  for (const std::int32_t wrong : {-1, 1 << 30}) {
    options.stop_ids = &wrong;
    EXPECT_EQ(refused(options), LOOM_INVALID_ARGUMENT) << wrong;
  }
}

TEST_F(CapiGeneration, LogprobsHaveTheDrawnTokenAndTheBest) {
  auto options = base();
  options.logprobs = 3;
  const Written w = write(options);
  ASSERT_EQ(w.logprobs.size(), w.ids.size());
  for (std::size_t i = 0; i < w.ids.size(); ++i) {
    const Json& one = w.logprobs[i];
    EXPECT_EQ(one["id"], w.ids[i]);
    EXPECT_LE(one["logprob"].get<double>(), 0);
    ASSERT_EQ(one["top"].size(), 3u);
    EXPECT_GE(one["top"][0]["logprob"].get<double>(), one["top"][1]["logprob"].get<double>());
  }
}

TEST_F(CapiGeneration, AChatReportsLogprobs) {
  auto options = base();
  options.logprobs = 1;
  const loom_session s = session();
  loom_chat chat = 0;
  ASSERT_EQ(loom_chat_create(s, nullptr, &options, &chat), LOOM_OK) << loom_last_error();
  ASSERT_EQ(loom_chat_say(chat, "Hello", 5, 0), LOOM_OK) << loom_last_error();
  for (auto step = sized<loom_step>(); step.stop == LOOM_STOP_NOT_YET;)
    ASSERT_EQ(loom_chat_next(chat, 0, &step), LOOM_OK) << loom_last_error();
  loom_blob blob = 0;
  ASSERT_EQ(loom_chat_logprobs(chat, &blob), LOOM_OK) << loom_last_error();
  EXPECT_EQ(parse_json(take(blob)).value_or(Json()).size(), 8u);
  for (const loom_handle handle : {chat, s}) EXPECT_EQ(loom_release(handle), LOOM_OK);
}

}  // namespace
}  // namespace loom::capi_generation_test
