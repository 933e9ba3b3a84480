// Generation by a grammar: the text satisfies it, and nothing else changes.

#include <gtest/gtest.h>

#include <string>

#include "core/json.h"
#include "lm/generator.h"
#include "support/small_model_test.h"

namespace loom::structured_test {
namespace {

class Structured : public test::SmallModelTest {
 protected:
  void SetUp() override {
    SmallModelTest::SetUp();
    auto loaded = load_language_model(gguf());
    ASSERT_TRUE(loaded) << loaded.error().text();
    model_ = std::move(*loaded);
  }
  Generation write(const GenerationOptions& options, int threads = 1) {
    std::vector<std::int32_t> prompt;
    EXPECT_TRUE(model_.tokenizer->encode("The sailor said", {}, prompt));
    const auto session = Session::create(model_.decoder, {.threads = threads, .context_tokens = 512});
    EXPECT_TRUE(session) << session.error().text();
    auto made = generate(**session, model_, prompt, options);
    EXPECT_TRUE(made) << made.error().text();
    return made ? *made : Generation{};
  }
  static GenerationOptions drawn(std::uint64_t seed) {
    GenerationOptions options;
    options.max_tokens = 300;
    options.sampling.temperature = 1.0f, options.sampling.top_p = 0.9f, options.sampling.seed = seed;
    return options;
  }

  LanguageModel model_;
};

TEST_F(Structured, AnswersSatisfyASchema) {
  const auto schema = Grammar::from_schema(R"({"type":"object","properties":{"name":{"type":"string","maxLength":8},
      "n":{"type":"integer","minimum":10,"maximum":99}},"required":["name","n"],"additionalProperties":false})");
  ASSERT_TRUE(schema) << schema.error().text();
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    GenerationOptions options = drawn(seed);
    options.grammar = *schema;
    const Generation g = write(options);
    EXPECT_EQ(g.stop_reason, StopReason::Eos);
    EXPECT_TRUE((*schema)->matches(g.text).value()) << g.text;
    const auto json = parse_json(g.text);
    ASSERT_TRUE(json) << g.text;
    const Json* n = find(*json, "n");
    ASSERT_NE(n, nullptr);
    EXPECT_TRUE(as_int(*n).value_or(0) >= 10 && as_int(*n).value_or(100) <= 99) << g.text;
  }
}

// The mask is between the logits and the draw: it moves neither the hash nor a draw among tokens that it allows.
TEST_F(Structured, AnyTextIsTheAnswerWithoutAGrammar) {
  const auto any = Grammar::from_regex("[^]*");
  ASSERT_TRUE(any) << any.error().text();
  GenerationOptions options;
  options.max_tokens = 12;
  const Generation free = write(options);
  options.grammar = *any;
  const Generation limited = write(options);
  EXPECT_EQ(limited.ids, free.ids);
  EXPECT_EQ(limited.hash, free.hash);
}

TEST_F(Structured, ThreadsAndDraftsChangeNothing) {
  GenerationOptions options = drawn(3);
  options.grammar = Grammar::from_regex("([a-z]{2,5} ){10,20}[.!]").value();
  const Generation one = write(options);
  EXPECT_TRUE(options.grammar->matches(one.text).value()) << one.text;
  EXPECT_EQ(write(options, 2).hash, one.hash);
  options.drafter = std::make_shared<NgramDrafter>();
  EXPECT_EQ(write(options).hash, one.hash);
}

TEST_F(Structured, EndsWhereTheTextIsComplete) {
  GenerationOptions options;
  options.grammar = Grammar::from_regex("abc").value();
  for (const bool ignore_eos : {false, true}) {
    options.ignore_eos = ignore_eos;
    const Generation g = write(options);
    EXPECT_EQ(g.text, "abc");
    EXPECT_EQ(g.stop_reason, StopReason::Eos);
  }
  options.max_tokens = 2;
  options.grammar = Grammar::from_regex("a( ?[0-9]){50}").value();
  const Generation cut = write(options);
  EXPECT_EQ(cut.stop_reason, StopReason::Length);
  EXPECT_EQ(cut.ids.size(), 2u);
}

TEST_F(Structured, NoTokenLeftIsAnError) {
  GenerationOptions options;
  options.grammar = Grammar::from_choices(std::vector<std::string>{"x"}).value();
  for (std::size_t id = 0; id < model_.tokenizer->vocab_size(); ++id) {
    const auto token = static_cast<std::int32_t>(id);
    if (model_.tokenizer->decode(std::span(&token, 1)) == "x") options.sampling.banned.push_back(token);
  }
  const std::int32_t prompt[] = {5, 6};
  const auto session = Session::create(model_.decoder, {.threads = 1, .context_tokens = 32});
  ASSERT_TRUE(session);
  const auto made = generate(**session, model_, prompt, options);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Code::InvalidState);
  EXPECT_NE(made.error().message.find("no token of the vocabulary"), std::string::npos);
}

TEST_F(Structured, AStopTextInsideOfAChoiceIsRefused) {
  GenerationOptions options;
  options.grammar = Grammar::from_choices(std::vector<std::string>{"yes", "no, never"}).value();
  const std::int32_t prompt[] = {5, 6};
  const auto session = Session::create(model_.decoder, {.threads = 1, .context_tokens = 32});
  ASSERT_TRUE(session);
  for (const char* const stop : {"es", "no, never", ", "}) {
    options.stop = {"\n", stop};
    const auto made = generate(**session, model_, prompt, options);
    ASSERT_FALSE(made) << stop;
    EXPECT_EQ(made.error().code, Code::InvalidArgument);
    EXPECT_NE(made.error().message.find(fmt::format("stop: \"{}\" is a part of the choice", stop)), std::string::npos);
  }
  options.stop = {"\n", "yes!"};  // no choice has them
  const auto made = generate(**session, model_, prompt, options);
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_TRUE(made->text == "yes" || made->text == "no, never") << made->text;
}

}  // namespace
}  // namespace loom::structured_test
