// Thoughts of a reasoning model are separated from its answer, in pieces of any size, in chats of both interfaces.

#include "server/thought_reader.h"

#include "support/api_fixture.h"

namespace loom::server_thought_reader_test {
namespace {

using server::Api;
using server::ThoughtReader;
using test::events_of;

struct Case {
  std::string said, thoughts, text;
  bool is_open = false;
};
const Case kCases[] = {
    {"<think>\nI see.\n</think>\n\nYes.", "I see.", "Yes."},
    {"\n <think>a\n\nb < c </think>d", "a\n\nb < c", "d"},
    {"<think>\n\n</think>\n\nYes.", "", "Yes."},
    {"<think> cut </thi", "cut </thi", ""},
    {"<think>cut \n", "cut", ""},
    {"<think>a</think>", "a", ""},
    {"Yes, <think>no</think>", "", "Yes, <think>no</think>"},
    {"<thin", "", "<thin"},
    {"  plain ", "", "  plain "},
    {"", "", ""},
    {"I see.\n</think>\n\nYes. </think>", "I see.", "Yes. </think>", true},
    {"I go on", "I go on", "", true},
};

TEST(ThoughtReader, SeparatesInPiecesOfAnySize) {
  for (const Case& c : kCases)
    for (std::size_t size = 1; size <= c.said.size() + 1; ++size) {
      ThoughtReader reader(c.is_open);
      std::string thoughts, text;
      const auto take = [&](const ThoughtReader::Found& found) { thoughts += found.thoughts, text += found.text; };
      for (std::size_t at = 0; at < c.said.size(); at += size) take(reader.push(c.said.substr(at, size)));
      take(reader.finish());
      EXPECT_EQ(thoughts, c.thoughts) << c.said << " in pieces of " << size;
      EXPECT_EQ(text, c.text) << c.said << " in pieces of " << size;
    }
}

// As Qwen3's and DeepSeek-R1's, in few words.
std::string template_with(const std::string& last) {
  return "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content.split('</think>')[-1] }}<|im_end|>\n{% endfor "
         "%}"
         "{% if add_generation_prompt %}<|im_start|>assistant\n" +
         last + "{% endif %}";
}

class Thoughts : public test::ApiFixture {
 protected:
  // Drawn, since the best tokens of the small model are line breaks.
  static Json drawn(Json more = Json::object()) {
    more["temperature"] = 1.5, more["seed"] = 1;
    return question(more);
  }
  static Json options() { return Json{{"num_predict", 12}, {"temperature", 1.5}, {"seed", 1}}; }
  static Api api_with(const std::string& last) {
    return Api(server::ApiModels{
        .engine = engine(),
        .answers = {.name = "small", .chat_template = ChatTemplate::parse(template_with(last)).value()}});
  }
};

TEST_F(Thoughts, AnAnswerThatBeginsInsideOfThoughtsGivesThem) {
  Api open = api_with("<think>\n"), closed = api_with("");
  const Json message = answer(open, drawn())["choices"][0]["message"];
  EXPECT_EQ(message["content"], "");
  ASSERT_TRUE(message.contains("reasoning_content")) << message;
  EXPECT_FALSE(as_string(message["reasoning_content"])->empty());
  std::string joined;
  for (const Json& event : events_of(ask(open, drawn({{"stream", true}})).body))
    if (const Json* piece = find(event["choices"][0]["delta"], "reasoning_content")) joined += *as_string(*piece);
  EXPECT_EQ(joined, *as_string(message["reasoning_content"]));
  const Json ollama{
      {"model", "small"}, {"messages", question()["messages"]}, {"stream", false}, {"options", options()}};
  const Json thought = read(post(open, "/api/chat", ollama));
  EXPECT_EQ(thought["message"]["thinking"], message["reasoning_content"]);
  EXPECT_EQ(thought["message"]["content"], "");
  // The template alone does not make thoughts of an answer.
  const Json plain = answer(closed, drawn())["choices"][0]["message"];
  EXPECT_FALSE(plain["content"].empty());
  EXPECT_FALSE(plain.contains("reasoning_content"));
  // An answer of a given form has no thoughts.
  const Json formed = answer(open, question({{"guided_choice", {"yes", "no"}}}))["choices"][0]["message"];
  EXPECT_TRUE(formed["content"] == "yes" || formed["content"] == "no") << formed;
}

TEST_F(Thoughts, TheTemplateTakesVariablesThatItReads) {
  Api api = api_with(
      "{{ '<think>\n\n</think>\n\n' if enable_thinking is defined and not enable_thinking else '<think>\n' }}");
  EXPECT_TRUE(answer(api, drawn())["choices"][0]["message"].contains("reasoning_content"));
  const Json off = answer(api, drawn({{"chat_template_kwargs", {{"enable_thinking", false}}}}));
  EXPECT_FALSE(off["choices"][0]["message"].contains("reasoning_content"));
  EXPECT_FALSE(as_string(off["choices"][0]["message"]["content"])->empty());
  const auto error = [&](const Json& more, const std::string& named) {
    const HttpResponse response = ask(api, question(more));
    EXPECT_EQ(response.status, 400) << response.body;
    EXPECT_NE(response.body.find(named), std::string::npos) << response.body;
  };
  error({{"chat_template_kwargs", {{"surprise", 1}}}}, "/chat_template_kwargs/surprise: the chat template");
  for (const char* name : {"able_think", "think", "content", "e", ""})  // parts of names, of texts and after dots
    error({{"chat_template_kwargs", {{name, 1}}}}, fmt::format("/chat_template_kwargs/{}: the chat template", name));
  error({{"chat_template_kwargs", {{"messages", 1}}}}, "Loom sets messages itself");
  error({{"chat_template_kwargs", 1}}, "/chat_template_kwargs: expected an object, got 1");
  Json ollama{{"model", "small"}, {"messages", question()["messages"]}, {"stream", false}, {"think", true}};
  ollama["options"] = options();
  EXPECT_TRUE(read(post(api, "/api/chat", ollama))["message"].contains("thinking"));
  ollama["think"] = false;
  EXPECT_FALSE(read(post(api, "/api/chat", ollama))["message"].contains("thinking"));
  ollama["think"] = "high";
  EXPECT_EQ(post(api, "/api/chat", ollama).status, 400);
  EXPECT_EQ(read(post(api, "/api/show", {{"model", "small"}}))["capabilities"].back(), "thinking");
}

TEST_F(Thoughts, AWholeAnswerAndAStreamHaveThoughtsTextAndCalls) {
  for (const bool streams : {false, true}) {
    server::Prepared prepared;
    prepared.request.messages = question()["messages"], prepared.request.stream = streams;
    prepared.thoughts.emplace(false);
    prepared.prompts.emplace_back();
    const auto to = std::make_shared<HttpReply>();
    server::ChatReply reply(to, model_->tokenizer, {"chatcmpl-1", "small", 1}, prepared);
    server::Answer answer;
    for (const char* const piece : {"<thi", "nk>\nI s", "ee.\n</thi", "nk>\n", "\nYes."}) {
      EXPECT_TRUE(reply.on_text(0, piece));
      answer.generation.text += piece;
    }
    answer.generation.stop_reason = StopReason::Eos;
    reply.on_end(0, std::move(answer));
    const std::string body = to->take_all().text;
    std::string thoughts, text;
    const auto take = [&](const Json& message) {
      if (const Json* each = find(message, "reasoning_content")) thoughts += *as_string(*each);
      if (const Json* each = find(message, "content")) text += *as_string(*each);
    };
    if (!streams) take(parse_json(body).value()["choices"][0]["message"]);
    if (streams)
      for (const Json& event : events_of(body)) take(event["choices"][0]["delta"]);
    EXPECT_EQ(thoughts, "I see.") << body;
    EXPECT_EQ(text, "Yes.") << body;
  }
}

}  // namespace
}  // namespace loom::server_thought_reader_test
