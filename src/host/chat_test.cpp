#include "host/chat.h"

#include <algorithm>

#include "host/conversation.h"
#include "support/files.h"
#include "support/small_model.h"

namespace loom::host_chat_test {
namespace {

class HostChat : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(test::write_small_model(folder_ / "model.gguf"));
    auto loaded = load_language_model(folder_ / "model.gguf");
    ASSERT_TRUE(loaded) << loaded.error().text();
    model_ = std::move(*loaded);
    session_ = fresh_session();
  }
  std::unique_ptr<Session> fresh_session(std::size_t context = 512) {
    auto session = Session::create(model_.decoder, {.threads = 1, .context_tokens = context});
    EXPECT_TRUE(session) << session.error().text();
    return std::move(*session);
  }
  Chat chat(Session& session, const std::string& system = "Be brief.") {
    GenerationOptions generation;
    generation.max_tokens = 12;
    auto made = Chat::create(model_, session, {.system = system, .generation = generation});
    EXPECT_TRUE(made) << made.error().text();
    return std::move(*made);
  }
  // Generates the answer to these messages in a session that holds nothing.
  Generation said_to(const Json& messages) {
    const std::string text = render_prompt(model_, {.messages = messages}).value();
    std::vector<std::int32_t> ids;
    EXPECT_TRUE(model_.tokenizer->encode(text, {.add_special_tokens = false, .parse_special = true}, ids));
    const auto session = fresh_session();
    GenerationOptions generation;
    generation.max_tokens = 12;
    return generate(*session, model_, ids, generation).value();
  }
  test::TempFolder folder_;
  LanguageModel model_;
  std::unique_ptr<Session> session_;
};

Json without_last(Json messages) {
  messages.erase(messages.size() - 1);
  return messages;
}

TEST_F(HostChat, answers_are_those_of_the_whole_conversation_though_only_its_end_is_read) {
  Chat chat = this->chat(*session_);
  for (const char* text : {"What is gravity?", "And light?", "Why?"}) {
    std::string pieces;
    const std::vector<std::int32_t> held(session_->tokens().begin(), session_->tokens().end());
    const auto answer = chat.ask(text, [&](std::string_view piece) {
      pieces += piece;
      return true;
    });
    ASSERT_TRUE(answer) << answer.error().text();
    EXPECT_EQ(pieces, answer->text);
    EXPECT_EQ(chat.messages().back()["content"], answer->text);
    const Generation wanted = said_to(without_last(chat.messages()));
    EXPECT_EQ(answer->text, wanted.text);
    EXPECT_EQ(answer->hash, wanted.hash);
    const auto whole = session_->tokens().first(wanted.prompt_tokens);
    const auto same = static_cast<std::size_t>(std::ranges::mismatch(held, whole).in1 - held.begin());
    EXPECT_EQ(chat.prompt_tokens(), whole.size() - same);
    EXPECT_GE(same, held.empty() ? 0u : 20u);
  }
  EXPECT_EQ(chat.messages().size(), 7u);
}

TEST_F(HostChat, an_edited_conversation_answers_like_one_that_was_so_from_the_beginning) {
  Chat chat = this->chat(*session_);
  for (const char* text : {"What is gravity?", "And light?"}) ASSERT_TRUE(chat.ask(text));
  ASSERT_TRUE(chat.edit(1, "What is time?"));
  EXPECT_EQ(chat.messages().size(), 2u);
  ASSERT_TRUE(chat.begin_answer());
  while (chat.is_answering()) ASSERT_TRUE(chat.next());
  EXPECT_EQ(chat.answer().hash, said_to(without_last(chat.messages())).hash);
  // Once more the same answer, with other words of the system.
  ASSERT_TRUE(chat.rewind(2));
  ASSERT_TRUE(chat.begin_answer());
  while (chat.is_answering()) ASSERT_TRUE(chat.next());
  EXPECT_EQ(chat.answer().hash, said_to(without_last(chat.messages())).hash);
  ASSERT_TRUE(chat.edit(0, "Be long."));
  EXPECT_EQ(chat.system(), "Be long.");
  EXPECT_EQ(chat.edit(1, "").error().code, Code::OutOfRange);
  EXPECT_EQ(chat.rewind(2).error().code, Code::OutOfRange);
  ASSERT_TRUE(chat.reset());
  EXPECT_EQ(chat.messages(), (Json{{{"role", "system"}, {"content", "Be long."}}}));
  EXPECT_EQ(session_->length(), 0u);
  ASSERT_TRUE(chat.set_system(""));
  EXPECT_TRUE(chat.messages().empty());
}

TEST_F(HostChat, an_answer_that_is_stopped_joins_the_conversation_and_nothing_else_does_meanwhile) {
  Chat chat = this->chat(*session_);
  EXPECT_EQ(chat.next().error().code, Code::InvalidState);
  ASSERT_TRUE(chat.stop());
  ASSERT_TRUE(chat.say("What is gravity?"));
  EXPECT_TRUE(chat.is_answering());
  for (const auto& refused : {chat.say("x"), chat.begin_answer(), chat.rewind(0), chat.edit(0, "x"), chat.reset(),
                              chat.set_system("x"), chat.use(*session_), chat.load("x"),
                              chat.set_messages(Json::array()), chat.push({{"role", "user"}, {"content", "x"}})})
    EXPECT_EQ(refused.error().code, Code::InvalidState);
  std::string text;
  while (text.empty()) text += chat.next()->text;
  ASSERT_TRUE(chat.stop());
  EXPECT_FALSE(chat.is_answering());
  EXPECT_EQ(chat.answer().stop_reason, StopReason::Cancelled);
  EXPECT_EQ(chat.messages().size(), 3u);
  EXPECT_TRUE(as_string(chat.messages()[2]["content"])->starts_with(text));
  // Before the first word; and by what the caller says to a piece.
  const std::atomic<bool> cancel = true;
  const auto none = chat.ask("And light?", {}, &cancel);
  ASSERT_TRUE(none) << none.error().text();
  EXPECT_EQ(none->stop_reason, StopReason::Cancelled);
  EXPECT_EQ(chat.messages()[4]["content"], "");
  const auto some = chat.ask("Why?", [](std::string_view) { return false; });
  ASSERT_TRUE(some) << some.error().text();
  EXPECT_EQ(some->stop_reason, StopReason::Cancelled);
  EXPECT_FALSE(some->text.empty());
  EXPECT_EQ(chat.messages().size(), 7u);
}

TEST_F(HostChat, what_cannot_be_answered_leaves_the_conversation_as_it_was) {
  const auto small = fresh_session(40);
  Chat chat = this->chat(*small);
  ASSERT_TRUE(chat.ask("Hi"));
  const Json before = chat.messages();
  for (const std::size_t words : {30, 400}) {
    std::string text;
    for (std::size_t i = 0; i < words; ++i) text += " wheel";
    const auto refused = chat.say(text);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::ContextFull) << refused.error().text();
    EXPECT_EQ(chat.messages(), before);
  }
  EXPECT_EQ(chat.push({{"role", "robot"}, {"content", "x"}}).error().code, Code::CorruptData);
  EXPECT_EQ(chat.push("x").error().code, Code::CorruptData);
  EXPECT_EQ(chat.set_messages({{"messages", 3}}).error().code, Code::CorruptData);
  EXPECT_EQ(chat.messages(), before);
  // An answer that ends with an error takes its question with it; a question that was pushed stays.
  const auto ends_with_an_error = [&] {
    while (chat.is_answering()) {
      EXPECT_TRUE(small->rewind(0));  // under the hands of the answer
      if (const auto step = chat.next(); !step) return step.error().code == Code::InvalidState;
    }
    return false;
  };
  ASSERT_TRUE(chat.reset());
  ASSERT_TRUE(chat.say("Hi"));
  ASSERT_TRUE(chat.next());
  EXPECT_TRUE(ends_with_an_error());
  EXPECT_EQ(chat.messages().size(), 1u);
  ASSERT_TRUE(chat.push({{"role", "user"}, {"content", "Hi"}}));
  ASSERT_TRUE(chat.begin_answer());
  ASSERT_TRUE(chat.next());
  EXPECT_TRUE(ends_with_an_error());
  EXPECT_EQ(chat.messages().size(), 2u);
}

TEST_F(HostChat, a_transcript_goes_on_in_another_session_with_the_same_words) {
  Chat first = chat(*session_);
  ASSERT_TRUE(first.ask("What is gravity?"));
  ASSERT_TRUE(first.save(folder_ / "talk.json"));
  const auto other = fresh_session();
  Chat second = chat(*other, "Another.");
  ASSERT_TRUE(second.load(folder_ / "talk.json"));
  EXPECT_EQ(second.messages(), first.messages());
  EXPECT_EQ(second.system(), "Be brief.");
  EXPECT_EQ(second.ask("And light?")->hash, first.ask("And light?")->hash);
  // One more session in the middle of a conversation, which it reads whole.
  const auto third = fresh_session();
  ASSERT_TRUE(second.use(*third));
  EXPECT_EQ(second.ask("Why?")->hash, first.ask("Why?")->hash);
  EXPECT_GT(second.prompt_tokens(), first.prompt_tokens());
  EXPECT_EQ(conversation_from_json(conversation_to_json(first.messages())).value(), first.messages());
}

TEST_F(HostChat, a_model_without_a_template_needs_one) {
  ASSERT_TRUE(test::write_small_model(folder_ / "base.gguf", /*without_template=*/true));
  const LanguageModel base = load_language_model(folder_ / "base.gguf").value();
  const auto session = Session::create(base.decoder, {.threads = 1, .context_tokens = 256}).value();
  EXPECT_EQ(Chat::create(base, *session).error().code, Code::NoTemplate);
  PromptRequest request{.messages = Json::array()};
  EXPECT_EQ(render_prompt(base, request).error().code, Code::NoTemplate);
  request.chat_template = ChatTemplate::parse(std::string(builtin_template("chatml").value())).value();
  GenerationOptions generation;
  generation.max_tokens = 4;
  auto made = Chat::create(base, *session, {.prompt = request, .generation = generation});
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_EQ(made->ask("Hi")->ids.size(), 4u);
}

}  // namespace
}  // namespace loom::host_chat_test
