// POST /v1/responses: items, events, calls of functions.

#include "server/response_reply.h"
#include "support/api_fixture.h"

namespace loom::server_api_responses_test {
namespace {

using server::Api;

class Responses : public test::ApiFixture {
 protected:
  static Json respond(Api& api, const Json& body) { return read(post(api, "/v1/responses", body)); }
  static Json asking(Json more = Json::object()) {
    more["input"] = "What is gravity?";
    if (!more.contains("max_output_tokens")) more["max_output_tokens"] = 12;
    return more;
  }
  // Each event's data; its line "event:" names the type.
  static std::vector<Json> events_of(const std::string& body) {
    std::vector<Json> events;
    for (std::size_t at = 0, end; (end = body.find("\n\n", at)) != std::string::npos; at = end + 2) {
      const std::string text = body.substr(at, end - at);
      const std::size_t data = text.find("\ndata: ");
      EXPECT_TRUE(text.starts_with("event: ") && data != text.npos) << text;
      events.push_back(parse_json(text.substr(data + 7)).value());
      EXPECT_EQ(events.back()["type"], text.substr(7, data - 7));
      EXPECT_EQ(events.back()["sequence_number"], events.size() - 1);
    }
    return events;
  }
};

TEST_F(Responses, TheTextIsThatOfAChat) {
  Api api(engine(), "small");
  const Json chat = answer(api, question());
  const Json json = respond(api, asking());
  EXPECT_EQ(json["object"], "response");
  EXPECT_EQ(json["status"], "incomplete");
  EXPECT_EQ(json["incomplete_details"]["reason"], "max_output_tokens");
  ASSERT_EQ(json["output"].size(), 1u);
  EXPECT_EQ(json["output"][0]["status"], "incomplete");
  EXPECT_EQ(json["output"][0]["content"][0]["text"], chat["choices"][0]["message"]["content"]);
  EXPECT_EQ(hash(json), hash(chat));
  EXPECT_EQ(json["usage"]["input_tokens"], chat["usage"]["prompt_tokens"]);
  EXPECT_EQ(json["usage"]["output_tokens"], 12);
  const Json parts = parse_json(R"([{"role":"user","content":[{"type":"input_text","text":"What is "},
                                                             {"type":"input_text","text":"gravity?"}]}])")
                         .value();
  Json items = asking();
  items["input"] = parts;
  EXPECT_EQ(hash(respond(api, items)), hash(chat));
  Json system = question();
  system["messages"].insert(system["messages"].begin(), Json{{"role", "system"}, {"content", "Be brief."}});
  EXPECT_EQ(hash(respond(api, asking({{"instructions", "Be brief."}}))), hash(answer(api, system)));
}

TEST_F(Responses, AStreamHasEveryEventOfItsItems) {
  Api api(engine(), "small");
  const Json expected = respond(api, asking());
  const auto events = events_of(post(api, "/v1/responses", asking({{"stream", true}})).body);
  std::vector<std::string> types;
  std::string text;
  for (const Json& event : events) {
    if (types.empty() || types.back() != *as_string(event["type"])) types.push_back(*as_string(event["type"]));
    if (event["type"] == "response.output_text.delta") text += *as_string(event["delta"]);
  }
  const std::vector<std::string> order = {"response.created",           "response.in_progress",
                                          "response.output_item.added", "response.content_part.added",
                                          "response.output_text.delta", "response.output_text.done",
                                          "response.content_part.done", "response.output_item.done",
                                          "response.incomplete"};
  EXPECT_EQ(types, order);
  EXPECT_EQ(text, *as_string(expected["output"][0]["content"][0]["text"]));
  EXPECT_EQ(hash(events.back()["response"]), hash(expected));
}

TEST_F(Responses, FunctionsAreCalledAndTheirResultsRead) {
  Api api(engine(), "small");
  Json body = asking({{"max_output_tokens", 200}, {"parallel_tool_calls", false}});
  body["tools"] = parse_json(R"([{"type":"function","name":"roll","parameters":{"type":"object","properties":
      {"n":{"enum":[6,20]}},"required":["n"],"additionalProperties":false}}])")
                      .value();
  body["tool_choice"] = Json{{"type", "function"}, {"name", "roll"}};
  const Json json = respond(api, body);
  ASSERT_EQ(json["output"].size(), 1u) << dump_json(json);
  const Json& call = json["output"][0];
  EXPECT_EQ(call["type"], "function_call");
  EXPECT_EQ(call["name"], "roll");
  EXPECT_EQ(json["status"], "completed");
  body["stream"] = true;
  const auto events = events_of(post(api, "/v1/responses", body).body);
  std::string arguments;
  for (const Json& event : events)
    if (event["type"] == "response.function_call_arguments.done") arguments = *as_string(event["arguments"]);
  EXPECT_EQ(arguments, *as_string(call["arguments"]));
  EXPECT_EQ(events.back()["type"], "response.completed");
  EXPECT_EQ(events.back()["response"]["output"][0]["call_id"], call["call_id"]);
  body["tool_choice"]["colour"] = 1;
  EXPECT_EQ(post(api, "/v1/responses", body).status, 400);
  Json next = asking();
  next["tools"] = body["tools"];
  next["input"] = Json::array({Json{{"role", "user"}, {"content", "Roll"}}, call,
                               Json{{"type", "function_call_output"}, {"call_id", call["call_id"]}, {"output", "4"}}});
  const Json four = respond(api, next);
  next["input"][2]["output"] = "5";
  EXPECT_NE(hash(respond(api, next)), hash(four));
}

// As chats give them in reasoning_content.
TEST_F(Responses, ThoughtsAreItemsOfTheirOwn) {
  for (const bool streams : {false, true}) {
    server::Prepared prepared;
    prepared.request.messages = question()["messages"], prepared.request.stream = streams;
    prepared.thoughts.emplace(false);
    prepared.prompts.emplace_back();
    const auto to = std::make_shared<HttpReply>();
    server::ResponseReply reply(to, model_->tokenizer, {"1", "small", 1}, prepared, Json::object());
    server::Answer answer;
    for (const char* const piece : {"<thi", "nk>\nI s", "ee.\n</thi", "nk>\n", "\nYes."}) {
      EXPECT_TRUE(reply.on_text(0, piece));
      answer.generation.text += piece;
    }
    ASSERT_TRUE(model_->tokenizer->encode(answer.generation.text, {}, answer.generation.ids));
    std::vector<std::int32_t> thoughts;
    ASSERT_TRUE(model_->tokenizer->encode("<think>\nI see.\n</think>", {}, thoughts));
    answer.generation.stop_reason = StopReason::Eos;
    reply.on_end(0, std::move(answer));
    const std::string body = to->take_all().text;
    Json whole;
    if (!streams) whole = parse_json(body).value();
    std::vector<std::string> types;
    std::string joined;
    for (const Json& event : streams ? events_of(body) : std::vector<Json>()) {
      if (types.empty() || types.back() != *as_string(event["type"])) types.push_back(*as_string(event["type"]));
      if (event["type"] == "response.reasoning_text.delta") joined += *as_string(event["delta"]);
      whole = event.contains("response") ? event["response"] : Json();
    }
    ASSERT_EQ(whole["output"].size(), 2u) << body;
    const Json& item = whole["output"][0];
    EXPECT_EQ(item["type"], "reasoning");
    EXPECT_EQ(item["status"], "completed");
    EXPECT_EQ(item["summary"], Json::array());
    EXPECT_EQ(item["content"], Json::array({Json{{"type", "reasoning_text"}, {"text", "I see."}}}));
    EXPECT_EQ(whole["output"][1]["content"][0]["text"], "Yes.");
    EXPECT_EQ(whole["usage"]["output_tokens_details"]["reasoning_tokens"], thoughts.size());
    if (!streams) continue;
    EXPECT_EQ(joined, "I see.");
    const std::vector<std::string> order = {"response.created",
                                            "response.in_progress",
                                            "response.output_item.added",
                                            "response.content_part.added",
                                            "response.reasoning_text.delta",
                                            "response.reasoning_text.done",
                                            "response.content_part.done",
                                            "response.output_item.done",
                                            "response.output_item.added",
                                            "response.content_part.added",
                                            "response.output_text.delta",
                                            "response.output_text.done",
                                            "response.content_part.done",
                                            "response.output_item.done",
                                            "response.completed"};
    EXPECT_EQ(types, order);
  }
}

TEST_F(Responses, ThoughtsGoBackToATemplateThatReadsThem) {
  constexpr const char* kTemplate =
      "{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.reasoning_content %}<think>{{ m.reasoning_content }}"
      "</think>{% endif %}{{ m.content }}{% for c in m.tool_calls or [] %}{{ c.function.name }}{% endfor %}"
      "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";
  Api api({.engine = engine(), .answers = {.name = "small", .chat_template = ChatTemplate::parse(kTemplate).value()}});
  const Json items = parse_json(R"([{"role":"user","content":"Hi"},
      {"type":"reasoning","id":"rs_1","summary":[],"content":[{"type":"reasoning_text","text":"A greeting."}]},
      {"type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Hello!"}]},
      {"role":"user","content":"What is gravity?"}])")
                         .value();
  Json body = asking();
  body["input"] = items;
  Json chat = question();
  chat["messages"] = parse_json(R"([{"role":"user","content":"Hi"},
      {"role":"assistant","content":"Hello!","reasoning_content":"A greeting."},
      {"role":"user","content":"What is gravity?"}])")
                         .value();
  EXPECT_EQ(hash(respond(api, body)), hash(answer(api, chat)));
  Json without = body;
  without["input"].erase(1);
  EXPECT_NE(hash(respond(api, without)), hash(respond(api, body)));
  without["input"].insert(without["input"].begin() + 1,
                          Json{{"type", "reasoning"}, {"summary", Json::array()}, {"encrypted_content", "x"}});
  const HttpResponse refused = post(api, "/v1/responses", without);
  EXPECT_EQ(refused.status, 400);
  EXPECT_NE(refused.body.find("/input/1/encrypted_content"), std::string::npos) << refused.body;
}

TEST_F(Responses, AFormHoldsAndWrongRequestsAreNamed) {
  Api api(engine(), "small");
  const Json format = parse_json(R"({"format":{"type":"json_schema","name":"n","schema":{"type":"object","properties":
      {"n":{"enum":[1,2]}},"required":["n"],"additionalProperties":false}}})")
                          .value();
  const Json json = respond(api, asking({{"text", format}, {"max_output_tokens", 40}}));
  EXPECT_TRUE(parse_json(*as_string(json["output"][0]["content"][0]["text"])).value().contains("n"));
  EXPECT_EQ(json["status"], "completed");
  EXPECT_EQ(json["output"][0]["status"], "completed");
  const auto error = [&](const Json& body, const std::string& named) {
    const HttpResponse response = post(api, "/v1/responses", body);
    EXPECT_EQ(response.status, 400) << response.body;
    EXPECT_NE(response.body.find(named), std::string::npos) << response.body;
  };
  error(Json::object(), "/input: is missing");
  error(asking({{"previous_response_id", "resp_1"}}), "/previous_response_id");
  error(asking({{"background", true}}), "/background");
  error(asking({{"truncation", "auto"}}), "truncation");
  error(asking({{"reasoning", {{"effort", "high"}}}}), "reasoning");
  error(asking({{"include", {"file_search_call.results"}}}), "/include");
  error(asking({{"text", {{"format", {{"type", "xml"}}}}}}), "/text/format");
  error(asking({{"tools", Json::array({Json{{"type", "web_search"}}})}}), "web_search");
  Json body = asking();
  body["input"] = Json::array({Json{{"type", "item_reference"}, {"id", "x"}}});
  error(body, "/input/0/type");
  body["input"] = parse_json(R"([{"role":"user","content":[{"type":"input_image","image_url":"x"}]}])").value();
  error(body, "input_image");
  for (const char* item :
       {R"({"role":"user","content":"Hi","prefix":true})", R"({"type":"reasoning","summary":[],"prefix":true})",
        R"({"type":"function_call","call_id":"1","name":"f","arguments":"{}","prefix":true})",
        R"({"type":"function_call_output","call_id":"1","output":"x","prefix":true})"}) {
    body["input"] = Json::array({parse_json(item).value()});
    error(body, "/input/0/prefix");
  }
  body["input"] = parse_json(R"([{"role":"user","content":[{"type":"input_text","text":"Hi","file":"x"}]}])").value();
  error(body, "/input/0/content/0/file");
  error(asking({{"text", {{"format", {{"type", "text"}, {"schema", Json::object()}}}}}}), "/text/format/schema");
  body["input"] = parse_json(R"([{"type":"function_call_output","call_id":"x","output":"4"}])").value();
  error(body, "/input/0/tool_call_id: no call before");
  body["instructions"] = "Be brief.";
  body["input"] = parse_json(R"([{"role":"user","content":"Hi"},{"role":"king","content":"x"}])").value();
  error(body, "/input/1: role \\\"king\\\"");
}

}  // namespace
}  // namespace loom::server_api_responses_test
