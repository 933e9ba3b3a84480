#include "server/api.h"

#include <thread>

#include "host/conversation.h"
#include "host/prompt.h"
#include "support/small_model.h"

namespace loom::server_api_test {
namespace {

using server::Api;
using server::Engine;

// The first block of SmolLM2 with a context of 256 tokens.
class ApiTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new test::TempFolder;
    ASSERT_TRUE(test::write_small_model(*folder_ / "small.gguf"));
  }
  static void TearDownTestSuite() { delete folder_; }

  static LanguageModel model() { return load_language_model(*folder_ / "small.gguf").value(); }
  static std::unique_ptr<Session> session(const LanguageModel& model) {
    return Session::create(model.decoder, {.threads = 1, .context_tokens = 256}).value();
  }
  static std::shared_ptr<Engine> engine(std::size_t most_waiting = 8) {
    LanguageModel loaded = model();
    auto of_it = session(loaded);
    return Engine::start(std::move(loaded), std::move(of_it), {.most_waiting = most_waiting}).value();
  }
  static HttpResponse ask(Api& api, const Json& body) {
    return whole(api.handle({"POST", "/v1/chat/completions", "", dump_json(body)}));
  }
  // A response that is written later, as a client gets it.
  static HttpResponse whole(HttpResponse response) {
    if (!response.later) return response;
    const HttpReply::Parts parts = response.later->take_all();
    return {parts.head->status, parts.head->content_type, parts.text};
  }
  static Json question(Json more = Json::object()) {
    more["messages"] = Json::array({Json{{"role", "user"}, {"content", "What is gravity?"}}});
    if (!more.contains("max_tokens")) more["max_tokens"] = 12;
    return more;
  }
  static Json answer(Api& api, const Json& body) {
    const HttpResponse response = ask(api, body);
    EXPECT_EQ(response.status, 200) << response.body;
    return parse_json(response.body).value();
  }
  static std::string hash(const Json& answer) { return *as_string(answer["loom"]["hash"]); }
  static std::string text(const Json& answer) { return *as_string(answer["choices"][0]["message"]["content"]); }

  static inline test::TempFolder* folder_ = nullptr;
};

std::vector<Json> events_of(const std::string& body) {
  std::vector<Json> events;
  for (std::size_t at = 0, end; (end = body.find("\n\n", at)) != std::string::npos; at = end + 2) {
    const std::string line = body.substr(at, end - at);
    EXPECT_TRUE(line.starts_with("data: ")) << line;
    if (line != "data: [DONE]") events.push_back(parse_json(line.substr(6)).value());
  }
  EXPECT_TRUE(body.ends_with("data: [DONE]\n\n"));
  return events;
}

TEST_F(ApiTest, AnAnswerIsThatOfTheLibrary) {
  const LanguageModel loaded = model();
  const auto alone = session(loaded);
  PromptRequest request{.messages = question()["messages"], .form = PromptForm::Chat};
  const Prompt prompt = make_prompt(loaded, std::move(request)).value();
  GenerationOptions options;
  options.max_tokens = 12;
  const Generation expected = generate(*alone, loaded, prompt.ids, options).value();
  Api api(engine(), "small");
  const Json first = answer(api, question());
  EXPECT_EQ(text(first), expected.text);
  EXPECT_EQ(hash(first), to_hex(expected.hash));
  EXPECT_EQ(first["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(first["usage"]["prompt_tokens"], prompt.ids.size());
  EXPECT_EQ(first["usage"]["completion_tokens"], 12);
  EXPECT_EQ(first["usage"]["prompt_tokens_details"]["cached_tokens"], 0);
  // The session holds the question now, and after another one only its beginning.
  const Json again = answer(api, question());
  EXPECT_EQ(again["usage"]["prompt_tokens_details"]["cached_tokens"], prompt.ids.size() - 1);
  EXPECT_EQ(hash(again), hash(first));
  Json other = question();
  other["messages"][0]["content"] = "What is light?";
  EXPECT_NE(hash(answer(api, other)), hash(first));
  EXPECT_EQ(hash(answer(api, question())), hash(first));
}

TEST_F(ApiTest, AStreamHasTheTextAndTheHashOfTheWholeAnswer) {
  Api api(engine(), "small");
  const Json expected = answer(api, question());
  const HttpResponse response = ask(api, question({{"stream", true}, {"stream_options", {{"include_usage", true}}}}));
  EXPECT_TRUE(response.content_type.starts_with("text/event-stream"));
  const auto events = events_of(response.body);
  ASSERT_GT(events.size(), 3u);
  std::string joined;
  for (const Json& event : events) {
    EXPECT_EQ(event["object"], "chat.completion.chunk");
    EXPECT_EQ(event["id"], events[0]["id"]);
    for (const Json& choice : event["choices"])
      if (choice["delta"].contains("content")) joined += *as_string(choice["delta"]["content"]);
  }
  EXPECT_EQ(events[0]["choices"][0]["delta"]["role"], "assistant");
  EXPECT_EQ(joined, text(expected));
  EXPECT_EQ(events[events.size() - 2]["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(events.back()["usage"]["completion_tokens"], 12);
  EXPECT_EQ(hash(events.back()), hash(expected));
}

TEST_F(ApiTest, ChoicesAreSessionsOfOneSeed) {
  Api api(engine(), "small");
  const Json drawn{{"temperature", 2}, {"seed", 3}};
  Json several = drawn;
  several["n"] = 3;
  const Json json = answer(api, question(several));
  ASSERT_EQ(json["choices"].size(), 3u);
  EXPECT_EQ(hash(json), hash(answer(api, question(drawn))));
  EXPECT_EQ(hash(json), *as_string(json["choices"][0]["loom"]["hash"]));
  EXPECT_EQ(json["usage"]["completion_tokens"], 36);
  std::set<std::string> texts;
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(json["choices"][i]["index"], i);
    texts.insert(*as_string(json["choices"][i]["message"]["content"]));
  }
  EXPECT_EQ(texts.size(), 3u);
  several["stream"] = true;
  std::string joined[3];
  std::size_t ends = 0;
  for (const Json& event : events_of(ask(api, question(several)).body))
    for (const Json& choice : event["choices"]) {
      const auto index = static_cast<std::size_t>(*as_int(choice["index"]));
      ASSERT_LT(index, 3u);
      if (choice["delta"].contains("content")) joined[index] += *as_string(choice["delta"]["content"]);
      if (choice["finish_reason"].is_null()) continue;
      EXPECT_EQ(choice["loom"]["hash"], json["choices"][index]["loom"]["hash"]);
      ++ends;
    }
  EXPECT_EQ(ends, 3u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(joined[i], *as_string(json["choices"][i]["message"]["content"]));
  several["n"] = 100;  // more than may ever wait
  const HttpResponse refused = ask(api, question(several));
  EXPECT_EQ(refused.status, 400) << refused.body;
}

// Compares an answer with that of the same request without the member.
TEST_F(ApiTest, EveryMemberChangesTheAnswer) {
  Api api(engine(), "small");
  const auto compare = [&](const Json& base, const Json& more) {
    Json body = question(base);
    const std::string before = ask(api, body).body;
    body.update(more);
    const HttpResponse response = ask(api, body);
    EXPECT_EQ(response.status, 200) << response.body;
    const auto answer_of = [](const std::string& whole) {  // without number, time and what the session held
      auto json = parse_json(whole);
      if (!json) return whole;
      json->erase("id"), json->erase("created"), json->erase("usage");
      return dump_json(*json);
    };
    EXPECT_NE(answer_of(before), answer_of(response.body)) << dump_json(more);
  };
  const Json drawn{{"temperature", 1.5}, {"seed", 1}};
  const std::string said = text(answer(api, question()));
  compare({}, {{"max_tokens", 5}});
  compare({{"max_tokens", nullptr}}, {{"max_completion_tokens", 5}});
  compare({}, drawn);
  compare(drawn, {{"seed", 2}});
  compare(drawn, {{"seed", -2}});
  compare(drawn, {{"top_p", 0.1}});
  compare(drawn, {{"top_k", 1}});
  compare(drawn, {{"min_p", 0.9}});
  compare({}, {{"repetition_penalty", 5}});
  compare({}, {{"frequency_penalty", 2}});
  compare(drawn, {{"presence_penalty", 2}});
  compare({}, {{"stop", said.substr(4, 3)}});
  compare({}, {{"stop", {said.substr(4, 3)}}});
  compare({}, {{"logit_bias", {{"28", 100}}}});
  compare({}, {{"logprobs", true}});
  compare({{"logprobs", true}}, {{"top_logprobs", 3}});
  compare({}, {{"stream", true}});
  compare({{"stream", true}}, {{"stream_options", {{"include_usage", true}}}});
  compare({{"logit_bias", {{"2", 100}}}}, {{"ignore_eos", true}});
}

TEST_F(ApiTest, AnswersSatisfyTheirForm) {
  Api api(engine(), "small");
  const Json schema = parse_json(R"({"type":"object","properties":{"n":{"type":"integer","minimum":1,"maximum":9}},
                                     "required":["n"],"additionalProperties":false})")
                          .value();
  const Json forms[] = {
      {{"response_format",
        {{"type", "json_schema"}, {"json_schema", {{"name", "n"}, {"schema", schema}, {"strict", true}}}}}},
      {{"guided_json", schema}},
      {{"guided_json", dump_json(schema)}},
      {{"structured_outputs", {{"json", schema}}}}};
  for (const Json& form : forms) {
    const auto json = parse_json(text(answer(api, question(form))));
    ASSERT_TRUE(json) << dump_json(form);
    const auto n = as_int((*json)["n"]);
    EXPECT_TRUE(n && *n >= 1 && *n <= 9) << dump_json(*json);
  }
  const std::string choice = text(answer(api, question({{"guided_choice", {"alpha", "omega"}}})));
  EXPECT_TRUE(choice == "alpha" || choice == "omega") << choice;
  EXPECT_EQ(text(answer(api, question({{"guided_regex", "abc"}}))), "abc");
  EXPECT_EQ(text(answer(api, question({{"structured_outputs", {{"grammar", "root ::= \"xyz\""}}}}))), "xyz");
}

TEST_F(ApiTest, AnObjectMayHaveASchemaBesideItsType) {
  Api api(engine(), "small");
  const Json schema{{"type", "object"},
                    {"properties", {{"n", {{"enum", {3, 4}}}}}},
                    {"required", {"n"}},
                    {"additionalProperties", false}};
  const Json json =
      parse_json(text(answer(api, question({{"response_format", {{"type", "json_object"}, {"schema", schema}}}}))))
          .value();
  EXPECT_TRUE(json["n"] == 3 || json["n"] == 4) << json;
}

// Takes members that servers add to answers and clients send back; refuses those that change the answer elsewhere.
TEST_F(ApiTest, MembersOfMessagesAreReadOrRefused) {
  Api api(engine(), "small");
  const std::string expected = hash(answer(api, question()));
  const auto with = [](const std::string& member, const Json& value) {
    Json body = question();
    body["messages"][0][member] = value;
    return body;
  };
  for (const char* member : {"refusal", "audio", "function_call", "tool_calls", "prefix"})
    EXPECT_EQ(hash(answer(api, with(member, nullptr))), expected) << member;
  for (const char* member : {"name", "id", "annotations", "reasoning_content", "parsed", "cache_control"})
    EXPECT_EQ(hash(answer(api, with(member, "x"))), expected) << member;
  for (const char* member : {"refusal", "audio", "function_call", "prefix", "images"}) {
    const HttpResponse response = ask(api, with(member, "x"));
    EXPECT_EQ(response.status, 400) << response.body;
    EXPECT_NE(response.body.find(fmt::format("/messages/0/{}: the chat template", member)), std::string::npos)
        << response.body;
    EXPECT_NE(response.body.find("unknown_parameter"), std::string::npos) << response.body;
  }
  const HttpResponse ids = whole(api.handle({"POST", "/tokenize", "", dump_json(with("prefix", true))}));
  EXPECT_EQ(ids.status, 400) << ids.body;
}

TEST_F(ApiTest, ALengthThatAClientNamesIsNeverCut) {
  Api api({.engine = engine(), .answers = {.name = "small", .most_tokens = 10}});
  const auto complete = [&](const Json& body) {
    return whole(api.handle({"POST", "/v1/completions", "", dump_json(body)}));
  };
  EXPECT_EQ(parse_json(complete({{"prompt", "Gravity is"}}).body).value()["usage"]["completion_tokens"], 10);
  EXPECT_EQ(complete({{"prompt", "Gravity is"}, {"max_tokens", nullptr}}).status, 200);
  for (const char* member : {"max_tokens", "max_completion_tokens"}) {
    const HttpResponse refused = complete({{"prompt", "Gravity is"}, {member, 16}});
    EXPECT_EQ(refused.status, 400) << refused.body;
    EXPECT_NE(refused.body.find("/max_tokens: an answer has at most 10 tokens on this server, got 16"),
              std::string::npos)
        << refused.body;
  }
  const HttpResponse response = api.handle({"POST", "/v1/responses", "", R"({"input":"Hi","max_output_tokens":16})"});
  EXPECT_NE(response.body.find("/max_output_tokens: an answer has at most 10"), std::string::npos) << response.body;
  const HttpResponse ollama =
      api.handle({"POST", "/api/generate", "", R"({"model":"small","prompt":"Hi","options":{"num_predict":16}})"});
  EXPECT_NE(ollama.body.find("/options/num_predict: an answer has at most 10"), std::string::npos) << ollama.body;
}

TEST_F(ApiTest, MembersThatSayWhoAsksChangeNothing) {
  Api api(engine(), "small");
  const std::string expected = hash(answer(api, question()));
  for (const std::string_view member : server::AnswerFields::kWithoutEffect)
    EXPECT_EQ(hash(answer(api, question({{std::string(member), "x"}}))), expected) << member;
  EXPECT_EQ(hash(answer(api, question({{"stop", nullptr}, {"seed", nullptr}, {"n", 1}, {"tool_choice", "none"}}))),
            expected);
  EXPECT_EQ(hash(answer(api, question({{"model", "small"}, {"response_format", {{"type", "text"}}}}))), expected);
}

TEST_F(ApiTest, LogprobsNameTheDrawnTokens) {
  Api api(engine(), "small");
  const Json json = answer(api, question({{"logprobs", true}, {"top_logprobs", 2}}));
  std::string joined;
  for (const Json& token : json["choices"][0]["logprobs"]["content"]) {
    joined += *as_string(token["token"]);
    EXPECT_LE(*as_number(token["logprob"]), 0);
    EXPECT_EQ(token["top_logprobs"].size(), 2u);
    EXPECT_EQ(token["top_logprobs"][0]["token"], token["token"]);  // greedy: the drawn one is the best
    EXPECT_EQ(token["bytes"].size(), as_string(token["token"])->size());
  }
  EXPECT_EQ(joined, text(json));
}

TEST_F(ApiTest, WrongRequestsAreAnsweredByOpenAisErrorObject) {
  Api api(engine(), "small");
  const auto error = [&](HttpResponse response, int status, const std::string& code, const std::string& named) {
    response = whole(std::move(response));
    EXPECT_EQ(response.status, status) << response.body;
    const auto json = parse_json(response.body);
    ASSERT_TRUE(json) << response.body;
    EXPECT_EQ((*json)["error"]["code"], code) << response.body;
    EXPECT_NE(as_string((*json)["error"]["message"])->find(named), std::string::npos) << response.body;
  };
  const auto post = [&](const std::string& body) { return api.handle({"POST", "/v1/chat/completions", "", body}); };
  error(post("{"), 400, "invalid_value", "");
  error(post("[]"), 400, "invalid_value", "messages");
  error(post("{}"), 400, "invalid_value", "/messages: is missing");
  error(post(R"({"messages":[{"role":"king","content":"x"}]})"), 400, "invalid_value", "/messages/0: role");
  error(post(R"({"messages":[{"role":"user","content":7}]})"), 400, "invalid_value", "/messages/0/content");
  error(post(R"({"messages":[]})"), 400, "invalid_value", "/messages: expected a list of at least one message, got []");
  error(post(R"({"messages":{"messages":[]}})"), 400, "invalid_value", "/messages: expected a list");
  error(post(R"({"messages":"Hi"})"), 400, "invalid_value", "/messages: expected a list");
  for (const std::string role : {"user", "system", "tool"})
    error(post(R"({"messages":[{"role":")" + role + R"(","content":null}]})"), 400, "invalid_value",
          "/messages/0/content: expected a text or a list of parts, got null");
  error(ask(api, question({{"temperature", 1e300}})), 400, "invalid_value", "/temperature");
  for (const Json& seed : {Json(18446744073709551616.0), Json(1.5), Json(""), Json("-1"), Json("18446744073709551616")})
    error(ask(api, question({{"seed", seed}})), 400, "invalid_value", "/seed: expected an integer from 0 to");
  error(ask(api, question({{"guided_choice", {"yes", "no"}}, {"stop", "e"}})), 400, "invalid_value",
        R"(stop: "e" is a part of the choice "yes")");
  error(ask(api, question({{"temprature", 1}})), 400, "unknown_parameter", "temperature");
  error(ask(api, question({{"temperature", 3}})), 400, "invalid_value", "/temperature");
  error(ask(api, question({{"temperature", "warm"}})), 400, "invalid_value", "/temperature");
  error(ask(api, question({{"n", 0}})), 400, "invalid_value", "/n");
  error(ask(api, question({{"functions", Json::array()}})), 400, "unknown_parameter", "functions");
  error(ask(api, question({{"tool_choice", "required"}})), 400, "invalid_value", "/tool_choice");
  error(ask(api, question({{"response_format", {{"type", "xml"}}}})), 400, "invalid_value", "/response_format");
  error(ask(api, question({{"guided_regex", "("}})), 400, "invalid_value", "/guided_regex");
  error(ask(api, question({{"guided_choice", Json::array()}})), 400, "invalid_value", "/guided_choice");
  error(ask(api, question({{"guided_json", {{"not", Json::object()}}}})), 400, "invalid_value", "/not");
  error(ask(api, question({{"guided_regex", "a"}, {"guided_grammar", "root ::= \"a\""}})), 400, "invalid_value",
        "/guided_grammar");
  for (const char* member : {"guided_regex", "guided_grammar"}) {
    error(ask(api, question({{member, ""}})), 400, "invalid_value",
          fmt::format("/{}: expected a text that is not empty, got \"\"", member));
    error(ask(api, question({{member, 7}})), 400, "invalid_value", fmt::format("/{}: expected a text", member));
  }
  error(ask(api, question({{"guided_json", ""}})), 400, "invalid_value", "/guided_json");
  error(ask(api, question({{"structured_outputs", {{"regex", ""}}}})), 400, "invalid_value",
        "/structured_outputs/regex: expected a text that is not empty");
  error(ask(api, question({{"structured_outputs", {{"grammar", ""}}}})), 400, "invalid_value",
        "/structured_outputs/grammar: expected a text that is not empty");
  error(ask(api, question({{"structured_outputs", Json::object()}})), 400, "invalid_value",
        "/structured_outputs: expected json, choice, regex or grammar");
  error(ask(api, question({{"response_format", {{"type", "json_object"}, {"schema", {{"not", 1}}}}}})), 400,
        "invalid_value", "/response_format/schema");
  const Json schema{{"type", "integer"}};
  const auto form = [&](const Json& format, const std::string& named) {
    error(ask(api, question({{"response_format", format}})), 400, "unknown_parameter", named);
  };
  form({{"type", "json_object"}, {"json_schema", {{"schema", schema}}}},
       "/response_format/json_schema: has no meaning");
  form({{"type", "text"}, {"schema", schema}}, "/response_format/schema: has no meaning");
  form({{"type", "json_schema"}, {"schema", schema}, {"json_schema", {{"schema", schema}}}}, "/response_format/schema");
  form({{"type", "json_schema"}, {"json_schema", {{"schema", schema}, {"shema", 1}}}},
       "/response_format/json_schema/shema");
  Json parts = question();
  parts["messages"][0]["content"] = parse_json(R"([{"type":"text","text":"Hi","image_url":"x"}])").value();
  error(ask(api, parts), 400, "unknown_parameter", "/messages/0/content/0/image_url");
  error(ask(api, question({{"stop", ""}})), 400, "invalid_value", "/stop");
  error(ask(api, question({{"logit_bias", {{"x", 1}}}})), 400, "invalid_value", "/logit_bias/x");
  for (const char* id : {"01", "-0", "+1", "1.0", ""})
    error(ask(api, question({{"logit_bias", {{"1", 1}, {id, 2}}}})), 400, "invalid_value",
          "expected a token's id as key");
  error(ask(api, question({{"logit_bias", {{"1", 101}}}})), 400, "invalid_value", "/logit_bias/1");
  error(ask(api, question({{"logit_bias", {{"99999999", 1}}}})), 400, "invalid_value", "99999999");
  error(ask(api, question({{"top_logprobs", 1}})), 400, "invalid_value", "/top_logprobs");
  error(ask(api, question({{"stream_options", Json::object()}})), 400, "invalid_value", "/stream_options");
  error(ask(api, question({{"stream", true}, {"stream_options", {{"usage", true}}}})), 400, "unknown_parameter",
        "usage");
  error(ask(api, question({{"model", "large"}})), 404, "model_not_found", "large");
  Json longer = question();
  std::string words;
  for (int i = 0; i < 300; ++i) words += "word ";
  longer["messages"][0]["content"] = words;
  error(ask(api, longer), 400, "context_length_exceeded", "256: loom serve --ctx makes it larger");
  error(ask(api, longer), 400, "context_length_exceeded", "this model's maximum context length is exceeded");
  error(api.handle({"GET", "/v1/chat/completions", "", ""}), 405, "method_not_allowed", "POST");
  error(api.handle({"POST", "/v1/models", "", ""}), 405, "method_not_allowed", "GET");
  error(api.handle({"GET", "/v1/models/large", "", ""}), 404, "model_not_found", "small");
  error(api.handle({"GET", "/v2", "", ""}), 404, "not_found", "/v1/chat/completions");
  EXPECT_EQ(answer(api, question())["choices"].size(), 1u);  // it goes on
}

TEST_F(ApiTest, SeedsHave64Bits) {
  Api api(engine(), "small");
  const LanguageModel loaded = model();
  const auto alone = session(loaded);
  const Prompt prompt =
      make_prompt(loaded, PromptRequest{.messages = question()["messages"], .form = PromptForm::Chat}).value();
  GenerationOptions options;
  options.max_tokens = 12, options.sampling.temperature = 1.5f;
  std::set<std::string> hashes;
  for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
    options.sampling.seed = seed;
    ASSERT_TRUE(alone->truncate(0));
    const std::string expected = to_hex(generate(*alone, loaded, prompt.ids, options).value().hash);
    for (const Json& given : {Json(seed), Json(fmt::format("{}", seed))})
      EXPECT_EQ(hash(answer(api, question({{"temperature", 1.5}, {"seed", given}}))), expected) << given;
    hashes.insert(expected);
  }
  EXPECT_EQ(hashes.size(), 3u);
  EXPECT_TRUE(hashes.contains(hash(answer(api, question({{"temperature", 1.5}, {"seed", -1}})))));  // 2^64 - 1
}

TEST_F(ApiTest, ModelsAndHealth) {
  Api api(engine(), "small");
  const Json list = parse_json(api.handle({"GET", "/v1/models", "", ""}).body).value();
  EXPECT_EQ(list["data"][0]["id"], "small");
  EXPECT_EQ(parse_json(api.handle({"GET", "/v1/models/small", "", ""}).body).value()["context_length"], 256);
  EXPECT_EQ(parse_json(api.handle({"GET", "/health", "", ""}).body).value(), (Json{{"status", "ok"}, {"requests", 0}}));
}

TEST_F(ApiTest, ATextIsContinuedAsByTheLibrary) {
  const LanguageModel loaded = model();
  const auto alone = session(loaded);
  const Prompt prompt = make_prompt(loaded, {.text = "Gravity is", .form = PromptForm::Raw}).value();
  GenerationOptions options;
  options.max_tokens = 16;
  const Generation expected = generate(*alone, loaded, prompt.ids, options).value();
  Api api(engine(), "small");
  const auto complete = [&](const Json& body) {
    return whole(api.handle({"POST", "/v1/completions", "", dump_json(body)}));
  };
  const Json json = parse_json(complete({{"prompt", "Gravity is"}}).body).value();
  EXPECT_EQ(json["object"], "text_completion");
  EXPECT_EQ(json["choices"][0]["text"], expected.text);
  EXPECT_EQ(json["choices"][0]["finish_reason"], "length");
  EXPECT_FALSE(json["choices"][0].contains("message"));
  EXPECT_EQ(hash(json), to_hex(expected.hash));
  EXPECT_EQ(json["usage"]["prompt_tokens"], prompt.ids.size());
  for (const Json& same : {Json(prompt.ids), Json::array({"Gravity is"}), Json::array({Json(prompt.ids)})})
    EXPECT_EQ(hash(parse_json(complete({{"prompt", same}}).body).value()), hash(json)) << same;
  std::string joined;
  for (const Json& event : events_of(complete({{"prompt", "Gravity is"}, {"stream", true}}).body)) {
    EXPECT_EQ(event["object"], "text_completion");
    joined += *as_string(event["choices"][0]["text"]);
  }
  EXPECT_EQ(joined, expected.text);
  const auto error = [&](const Json& body, const std::string& named) {
    const HttpResponse response = complete(body);
    EXPECT_EQ(response.status, 400) << response.body;
    EXPECT_NE(response.body.find(named), std::string::npos) << response.body;
  };
  error(Json::object(), "/prompt: is missing");
  error({{"prompt", ""}}, "no tokens");
  error({{"prompt", Json::array()}}, "/prompt");
  error({{"prompt", {1, "x"}}}, "/prompt/1");
  error({{"prompt", {49152}}}, "49152");
  error({{"prompt", {"a", ""}}}, "no tokens");
  error({{"prompt", {"a", 1}}}, "/prompt/1: expected a text");
  error({{"prompt", {Json::array({1}), Json::array({2, "x"})}}}, "/prompt/1/1: expected a token's id");
  error({{"prompt", Json(std::vector<std::string>(129, "a"))}}, "/prompt: expected at most 128 prompts, got 129");
  error({{"prompt", Json::array({Json::array({Json::array()})})}}, "/prompt/0/0");
  error({{"prompt", "x"}, {"messages", "x"}}, "messages");
  error({{"prompt", "x"}, {"echo", true}}, "echo");
  error({{"prompt", "x"}, {"best_of", 2}}, "best_of");
}

// Choices of one prompt are those of a request with this prompt alone; indices count through all of them.
TEST_F(ApiTest, SeveralPromptsAreContinued) {
  Api api(engine(), "small");
  const auto complete = [&](Json body, const Json& prompt) {
    body["prompt"] = prompt;
    const HttpResponse response = whole(api.handle({"POST", "/v1/completions", "", dump_json(body)}));
    EXPECT_EQ(response.status, 200) << response.body;
    return response.body;
  };
  const Json options{{"n", 2}, {"temperature", 1.5}, {"seed", 3}, {"max_tokens", 6}};
  const Json prompts{"Gravity is", "Light moves", "Gravity is"};
  const Json both = parse_json(complete(options, prompts)).value();
  ASSERT_EQ(both["choices"].size(), 6u);
  std::int64_t read = 0;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    const Json alone = parse_json(complete(options, prompts[i])).value();
    read += *as_int(alone["usage"]["prompt_tokens"]);
    for (std::size_t k = 0; k < 2; ++k) {
      const Json& choice = both["choices"][2 * i + k];
      EXPECT_EQ(choice["index"], 2 * i + k);
      EXPECT_EQ(choice["text"], alone["choices"][k]["text"]);
      EXPECT_EQ(choice["loom"]["hash"], alone["choices"][k]["loom"]["hash"]);
    }
  }
  EXPECT_EQ(both["usage"]["prompt_tokens"], read);
  EXPECT_EQ(both["usage"]["completion_tokens"], 36);
  EXPECT_EQ(hash(both), *as_string(both["choices"][0]["loom"]["hash"]));
  Json streamed = options;
  streamed["stream"] = true;
  std::string joined[6];
  for (const Json& event : events_of(complete(streamed, prompts)))
    joined[static_cast<std::size_t>(*as_int(event["choices"][0]["index"]))] += *as_string(event["choices"][0]["text"]);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(joined[i], *as_string(both["choices"][i]["text"]));
}

TEST_F(ApiTest, MetricsCountRequestsTokensAndBlocks) {
  Api api(engine(1), "small");
  const auto metric = [&api](const std::string& name) -> std::int64_t {
    const HttpResponse response = api.handle({"GET", "/metrics", "", ""});
    EXPECT_TRUE(response.content_type.starts_with("text/plain; version=0.0.4")) << response.content_type;
    const std::size_t at = response.body.find("\n" + name + " ");
    EXPECT_NE(at, std::string::npos) << name << " is missing in " << response.body;
    return at == std::string::npos ? -1 : std::stoll(response.body.substr(at + name.size() + 2));
  };
  const Json first = answer(api, question()), again = answer(api, question());
  const std::int64_t prompt = *as_int(first["usage"]["prompt_tokens"]);
  EXPECT_EQ(ask(api, question({{"n", 20}})).status, 400);
  EXPECT_EQ(metric("loom_requests_total{end=\"answered\"}"), 2);
  EXPECT_EQ(metric("loom_requests_total{end=\"refused\"}"), 20);
  EXPECT_EQ(metric("loom_requests_total{end=\"failed\"}"), 0);
  EXPECT_EQ(metric("loom_prompt_tokens_total"), 2 * prompt);
  EXPECT_EQ(metric("loom_cached_tokens_total"), prompt - 1);
  EXPECT_EQ(metric("loom_generated_tokens_total"), 24);
  EXPECT_EQ(metric("loom_rows_total"), prompt + 11 + 1 + 11);  // the last drawn token is not fed
  EXPECT_EQ(metric("loom_requests_running"), 0);
  EXPECT_EQ(metric("loom_requests_waiting"), 0);
  EXPECT_EQ(metric("loom_cache_blocks"), 1);
  EXPECT_EQ(metric("loom_cache_blocks_running"), 0);
  EXPECT_EQ(metric("loom_cache_blocks_limit"), 4);  // one sequence of 256 positions
}

TEST_F(ApiTest, AClientThatLeavesFreesTheEngine) {
  const auto shared = engine();
  Api api(shared, "small");
  const std::string expected = hash(answer(api, question()));
  const HttpResponse endless =
      api.handle({"POST", "/v1/chat/completions", "",
                  dump_json(question({{"max_tokens", 240}, {"ignore_eos", true}, {"stream", true}}))});
  endless.later->close();
  EXPECT_EQ(hash(answer(api, question())), expected);
  for (int i = 0; i < 1000 && shared->under_way() > 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(shared->under_way(), 0u);
}

TEST_F(ApiTest, MoreRequestsThanMayWaitAreToldToTryAgain) {
  Api api(engine(1), "small");
  const Json endless = question({{"max_tokens", 200}, {"ignore_eos", true}});
  std::vector<HttpResponse> responses;
  for (int i = 0; i < 6; ++i) responses.push_back(api.handle({"POST", "/v1/chat/completions", "", dump_json(endless)}));
  std::size_t refused = 0;
  std::set<std::string> hashes;
  for (HttpResponse& response : responses) {
    response = whole(std::move(response));
    if (response.status == 429)
      ++refused;
    else
      hashes.insert(hash(parse_json(response.body).value()));
  }
  EXPECT_GE(refused, 3u);
  EXPECT_EQ(hashes.size(), 1u);  // the same bits for all
}

TEST_F(ApiTest, AnEngineThatEndsAnswersThoseWhoWait) {
  auto shared = engine();
  HttpResponse first, second;
  {
    Api api(shared, "small");
    const Json endless = question({{"max_tokens", 200}, {"ignore_eos", true}});
    first = api.handle({"POST", "/v1/chat/completions", "", dump_json(endless)});
    second = api.handle({"POST", "/v1/chat/completions", "", dump_json(endless)});
  }
  shared.reset();
  EXPECT_TRUE(first.later->take_all().is_last);
  const HttpReply::Parts parts = second.later->take_all();
  EXPECT_EQ(parts.head->status, 503);
  EXPECT_NE(parts.text.find("shutting_down"), std::string::npos);
}

}  // namespace
}  // namespace loom::server_api_test
