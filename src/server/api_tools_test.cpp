// Tools over the API: forced calls, streams, conversations with results, wrong requests.

#include "support/api_fixture.h"
#include "support/files.h"

namespace loom::server_api_tools_test {
namespace {

using server::Api;
using test::events_of;

// Hermes' form, in few words.
constexpr const char* kTemplate =
    "{% if tools %}<|im_start|>system\n{{ tools | tojson }}<|im_end|>\n{% endif %}"
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content or '' }}"
    "{% for c in m.tool_calls or [] %}{{ '' if loop.first else '\n' }}<tool_call>\n"
    "{{ {'name': c.function.name, 'arguments': c.function.arguments} | tojson }}\n</tool_call>{% endfor %}"
    "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

class ApiTools : public test::ApiFixture {
 protected:
  static Api hermes() {
    return Api(server::ApiModels{
        .engine = engine(), .answers = {.name = "small", .chat_template = ChatTemplate::parse(kTemplate).value()}});
  }
  static Json tools() {
    return parse_json(R"([{"type":"function","function":{"name":"get_weather","description":"The weather of a city",
        "parameters":{"type":"object","properties":{"city":{"enum":["Rome","Oslo"]}},"required":["city"],
        "additionalProperties":false}}},
        {"type":"function","function":{"name":"roll"}}])")
        .value();
  }
  static Json forced(const std::string& name, Json more = Json::object()) {
    more["tools"] = tools();
    more["tool_choice"] = Json{{"type", "function"}, {"function", {{"name", name}}}};
    more["max_tokens"] = 200;
    return question(more);
  }
  static void expect_call(const Json& call) {
    EXPECT_EQ(call["type"], "function");
    EXPECT_EQ(as_string(call["id"])->size(), 9u);
    EXPECT_EQ(call["function"]["name"], "get_weather");
    const Json arguments = parse_json(*as_string(call["function"]["arguments"])).value();
    EXPECT_TRUE(arguments == Json({{"city", "Rome"}}) || arguments == Json({{"city", "Oslo"}})) << dump_json(arguments);
  }
};

TEST_F(ApiTools, AForcedFunctionIsCalledWithArgumentsThatFit) {
  Api api = hermes();
  const Json one = answer(api, forced("get_weather", {{"parallel_tool_calls", false}}));
  const Json& message = one["choices"][0]["message"];
  EXPECT_TRUE(message["content"].is_null());
  ASSERT_EQ(message["tool_calls"].size(), 1u) << dump_json(one);
  expect_call(message["tool_calls"][0]);
  EXPECT_EQ(one["choices"][0]["finish_reason"], "tool_calls");
  // Equal requests give equal ids and hashes, and another question another id.
  const Json again = answer(api, forced("get_weather", {{"parallel_tool_calls", false}}));
  EXPECT_EQ(again["choices"][0]["message"], message);
  EXPECT_EQ(hash(again), hash(one));
  Json other = forced("get_weather", {{"parallel_tool_calls", false}});
  other["messages"][0]["content"] = "And light?";
  EXPECT_NE(answer(api, other)["choices"][0]["message"]["tool_calls"][0]["id"], message["tool_calls"][0]["id"]);
}

// Qwen3-Coder's calls have no JSON.
TEST_F(ApiTools, ArgumentsInTagsAreForcedToo) {
  const std::string source = test::read_all(test::data_path("vocabs/templates/Qwen3-Coder.jinja"));
  Api api(server::ApiModels{.engine = engine(),
                            .answers = {.name = "small", .chat_template = ChatTemplate::parse(source).value()}});
  EXPECT_EQ(answer(api, question({{"tools", tools()}, {"max_tokens", 4}}))["choices"].size(), 1u);
  Json body = forced("get_weather");
  body["max_tokens"] = 60;
  const Json one = answer(api, body);
  ASSERT_EQ(one["choices"][0]["message"]["tool_calls"].size(), 1u) << dump_json(one);
  expect_call(one["choices"][0]["message"]["tool_calls"][0]);
  body = forced("roll");
  body["max_tokens"] = 60;
  const Json roll = answer(api, body);
  ASSERT_EQ(roll["choices"][0]["message"]["tool_calls"].size(), 1u) << dump_json(roll);
  EXPECT_EQ(roll["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"], "{}");
}

TEST_F(ApiTools, AFunctionWithoutParametersIsCalledWithNone) {
  Api api = hermes();
  const Json json = answer(api, forced("roll", {{"parallel_tool_calls", false}}));
  const Json arguments =
      parse_json(*as_string(json["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"])).value();
  EXPECT_EQ(arguments, Json::object());
}

TEST_F(ApiTools, RequiredCallsAreStreamedAsDeltas) {
  Api api = hermes();
  Json body = forced("get_weather", {{"parallel_tool_calls", false}});
  const Json whole = answer(api, body);
  body["stream"] = true, body["stream_options"] = Json{{"include_usage", true}};
  const auto events = events_of(ask(api, body).body);
  Json call;
  std::string arguments, reason;
  for (const Json& event : events)
    for (const Json& choice : event["choices"]) {
      EXPECT_TRUE(!choice["delta"].contains("content") || choice["delta"]["content"] == "") << dump_json(choice);
      if (choice["delta"].contains("tool_calls")) {
        const Json& delta = choice["delta"]["tool_calls"][0];
        EXPECT_EQ(delta["index"], 0);
        if (delta.contains("id")) call = delta;
        arguments += *as_string(delta["function"]["arguments"]);
      }
      if (!choice["finish_reason"].is_null()) reason = *as_string(choice["finish_reason"]);
    }
  const Json& expected = whole["choices"][0]["message"]["tool_calls"][0];
  EXPECT_EQ(call["id"], expected["id"]);
  EXPECT_EQ(call["function"]["name"], expected["function"]["name"]);
  EXPECT_EQ(arguments, *as_string(expected["function"]["arguments"]));
  EXPECT_EQ(reason, "tool_calls");
  EXPECT_EQ(hash(events.back()), hash(whole));
}

TEST_F(ApiTools, ResultsGoBackToTheModel) {
  Api api = hermes();
  const Json called = answer(api, forced("get_weather", {{"parallel_tool_calls", false}}));
  Json body = question({{"tools", tools()}});
  body["messages"].push_back(called["choices"][0]["message"]);
  const std::string id = *as_string(body["messages"][1]["tool_calls"][0]["id"]);
  body["messages"].push_back({{"role", "tool"}, {"tool_call_id", id}, {"content", "rain"}});
  const Json rain = answer(api, body);
  body["messages"][2]["content"] = "sun";
  EXPECT_NE(hash(answer(api, body)), hash(rain));
  // The model reads the call and its result.
  HttpResponse tokens = api.handle({"POST", "/tokenize", "", dump_json(Json{{"messages", body["messages"]}})});
  const Json ids = parse_json(tokens.body).value();
  const Json text =
      parse_json(api.handle({"POST", "/detokenize", "", dump_json(Json{{"tokens", ids["tokens"]}})}).body).value();
  EXPECT_NE(as_string(text["prompt"])->find("<tool_call>\n{\"name\": \"get_weather\""), std::string::npos) << text;
  EXPECT_NE(as_string(text["prompt"])->find("sun"), std::string::npos) << text;
}

TEST_F(ApiTools, NoneHidesTheToolsAndAutoShowsThem) {
  Api api = hermes();
  const std::string free = hash(answer(api, question()));
  EXPECT_EQ(hash(answer(api, question({{"tools", tools()}, {"tool_choice", "none"}}))), free);
  EXPECT_EQ(hash(answer(api, question({{"tools", Json::array()}}))), free);
  const std::string automatic = hash(answer(api, question({{"tools", tools()}})));
  EXPECT_NE(automatic, free);
  EXPECT_EQ(hash(answer(api, question({{"tools", tools()}, {"tool_choice", "auto"}}))), automatic);
}

// SmolLM2's template knows no tools: Loom describes them, and a call is the whole answer.
TEST_F(ApiTools, ATemplateWithoutToolsGetsTheOwnForm) {
  Api api(engine(), "small");
  const Json json = answer(api, forced("get_weather", {{"parallel_tool_calls", false}}));
  ASSERT_EQ(json["choices"][0]["message"]["tool_calls"].size(), 1u) << dump_json(json);
  expect_call(json["choices"][0]["message"]["tool_calls"][0]);
  EXPECT_NE(hash(answer(api, question({{"tools", tools()}}))), hash(answer(api, question())));
}

TEST_F(ApiTools, AStrictFunctionHoldsForFreeAnswersToo) {
  Api api = hermes();
  Json body = question({{"tools", tools()}, {"temperature", 1.5}, {"seed", 5}});
  body["tools"][0]["function"]["strict"] = true;
  // The least of bits: the answer has no marker that is not a call.
  const Json json = answer(api, body);
  const Json& content = json["choices"][0]["message"]["content"];
  EXPECT_TRUE(content.is_null() || as_string(content)->find("<tool_call>") == std::string::npos) << dump_json(json);
}

TEST_F(ApiTools, WrongToolsAreNamed) {
  Api api = hermes();
  const auto error = [&](Json body, const std::string& code, const std::string& named) {
    const HttpResponse response = ask(api, body);
    EXPECT_EQ(response.status, 400) << response.body;
    const Json json = parse_json(response.body).value();
    EXPECT_EQ(json["error"]["code"], code) << response.body;
    EXPECT_NE(as_string(json["error"]["message"])->find(named), std::string::npos) << response.body;
  };
  const auto with = [&](const char* list, const char* choice = "null") {
    return question({{"tools", parse_json(list).value()}, {"tool_choice", parse_json(choice).value()}});
  };
  const char* const one = R"([{"type":"function","function":{"name":"f"}}])";
  error(with(R"({"type":"function"})"), "invalid_value", "/tools");
  error(with(R"([1])"), "invalid_value", "/tools/0");
  error(with(R"([{"type":"web_search"}])"), "unsupported_value", "web_search");
  error(with(R"([{"type":"function"}])"), "invalid_value", "/tools/0/function");
  error(with(R"([{"type":"function","function":{"name":"a b"}}])"), "invalid_value", "/tools/0/function/name");
  error(with(R"([{"type":"function","function":{"name":"f","args":{}}}])"), "unknown_parameter", "args");
  error(with(R"([{"type":"function","function":{"name":"f","parameters":[]}}])"), "invalid_value", "parameters");
  error(with(R"([{"type":"function","function":{"name":"f","parameters":{"type":"string"}}}])"), "invalid_value",
        "/tools/0/function/parameters/type");
  error(with(R"([{"type":"function","function":{"name":"f"}},{"type":"function","function":{"name":"f"}}])"),
        "invalid_value", "/tools/1");
  error(with(one, R"({"type":"function","function":{"name":"g"}})"), "invalid_value", "g");
  error(with(one, R"("sometimes")"), "unsupported_value", "/tool_choice");
  error(with(R"([{"type":"function","function":{"name":"f","parameters":{"not":{}}}}])", "\"required\""),
        "invalid_value", "/not");
  Json both = with(one);
  both["response_format"] = Json{{"type", "json_object"}};
  error(both, "unsupported_value", "/tools");
  Json orphan = question();
  orphan["messages"].push_back({{"role", "tool"}, {"content", "x"}});
  error(orphan, "invalid_value", "tool_call_id");
  orphan["messages"][1]["tool_call_id"] = "nobody";
  error(orphan, "invalid_value", "nobody");
  Json nameless = question();
  nameless["messages"].push_back(
      {{"role", "assistant"}, {"tool_calls", Json::array({Json{{"function", {{"name", "f"}, {"arguments", "{}"}}}}})}});
  error(nameless, "invalid_value", "/messages/1/tool_calls/0");
  nameless["messages"][1]["tool_calls"][0]["function"]["arguments"] = "[";
  error(nameless, "invalid_value", "arguments");
}

// A call is answered alike alone and beside others.
TEST_F(ApiTools, TheCrowdDoesNotChangeACall) {
  Api api(server::ApiModels{.engine = engine(32, 8),
                            .answers = {.name = "small", .chat_template = ChatTemplate::parse(kTemplate).value()}});
  const Json body = forced("get_weather", {{"temperature", 1}, {"seed", 7}});
  const Json alone = answer(api, body);
  std::vector<HttpResponse> crowd;
  for (int i = 0; i < 8; ++i) {
    Json each = i % 2 == 0 ? body : question({{"temperature", 1}, {"seed", i}, {"max_tokens", 30}});
    crowd.push_back(api.handle({"POST", "/v1/chat/completions", "", dump_json(each)}));
  }
  for (std::size_t i = 0; i < crowd.size(); ++i) {
    const HttpResponse response = test::whole(std::move(crowd[i]));
    ASSERT_EQ(response.status, 200) << response.body;
    if (i % 2 != 0) continue;
    const Json json = parse_json(response.body).value();
    EXPECT_EQ(hash(json), hash(alone));
    EXPECT_EQ(json["choices"][0]["message"], alone["choices"][0]["message"]);
  }
}

}  // namespace
}  // namespace loom::server_api_tools_test
