// Ollama's paths over the API.

#include "support/api_fixture.h"

namespace loom::server_api_ollama_test {
namespace {

using server::Api;

class Ollama : public test::ApiFixture {
 protected:
  static Json asking(Json more = Json::object()) {
    more["model"] = "small";
    more["messages"] = question()["messages"];
    if (!more.contains("options")) more["options"] = Json{{"num_predict", 12}};
    if (!more.contains("stream")) more["stream"] = false;
    return more;
  }
  static std::vector<Json> lines_of(const HttpResponse& response) {
    EXPECT_EQ(response.content_type, "application/x-ndjson");
    std::vector<Json> lines;
    for (std::size_t at = 0, end; (end = response.body.find('\n', at)) != std::string::npos; at = end + 1)
      lines.push_back(parse_json(response.body.substr(at, end - at)).value());
    return lines;
  }
};

TEST_F(Ollama, ChatAndGenerateGiveTheBitsOfOpenAisChat) {
  Api api(engine(), "small");
  const Json expected = answer(api, question());
  const Json& text = expected["choices"][0]["message"]["content"];
  const Json chat = read(post(api, "/api/chat", asking()));
  EXPECT_EQ(chat["message"]["content"], text);
  EXPECT_EQ(hash(chat), hash(expected));
  EXPECT_EQ(chat["done"], true);
  EXPECT_EQ(chat["done_reason"], "length");
  EXPECT_EQ(chat["prompt_eval_count"], expected["usage"]["prompt_tokens"]);
  EXPECT_EQ(chat["eval_count"], 12);
  EXPECT_GT(*as_int(chat["total_duration"]), 0);
  const Json body{{"model", "small:latest"}, {"prompt", "What is gravity?"}, {"options", {{"num_predict", 12}}}};
  const auto lines = lines_of(post(api, "/api/generate", body));
  std::string joined;
  for (const Json& line : lines) joined += *as_string(line["response"]);
  EXPECT_EQ(joined, *as_string(text));
  EXPECT_EQ(lines.back()["done"], true);
  EXPECT_EQ(lines.front()["done"], false);
  EXPECT_EQ(hash(lines.back()), hash(expected));
  const Json raw = read(post(api, "/api/generate",
                             {{"model", "small"},
                              {"prompt", "Gravity is"},
                              {"raw", true},
                              {"stream", false},
                              {"options", {{"num_predict", 8}}}}));
  EXPECT_EQ(hash(raw), hash(read(post(api, "/v1/completions", {{"prompt", "Gravity is"}, {"max_tokens", 8}}))));
}

TEST_F(Ollama, EveryOptionChangesTheAnswer) {
  Api api(engine(), "small");
  const auto with = [&](const Json& options) {
    Json json = read(post(api, "/api/chat", asking({{"options", options}})));
    return dump_json(json["message"]) + hash(json) + dump_json(json["done_reason"]);
  };
  const Json drawn{{"num_predict", 12}, {"temperature", 1.5}, {"seed", 1}};
  const Json greedy{{"num_predict", 12}};
  const std::string text =
      *as_string(read(post(api, "/api/chat", asking({{"options", greedy}})))["message"]["content"]);
  const std::pair<Json, Json> changes[] = {{greedy, {{"num_predict", 5}}},
                                           {greedy, {{"temperature", 1.5}}},
                                           {drawn, {{"seed", 2}}},
                                           {drawn, {{"top_k", 1}}},
                                           {drawn, {{"top_p", 0.1}}},
                                           {drawn, {{"min_p", 0.9}}},
                                           {drawn, {{"typical_p", 0.05}}},
                                           {greedy, {{"repeat_penalty", 5}}},
                                           {greedy, {{"frequency_penalty", 2}}},
                                           {drawn, {{"presence_penalty", 2}}},
                                           {{{"num_predict", 12}, {"repeat_penalty", 5}}, {{"repeat_last_n", 0}}},
                                           {greedy, {{"stop", {text.substr(4, 3)}}}}};
  for (const auto& [base, more] : changes) {
    Json changed = base;
    changed.update(more);
    EXPECT_NE(with(base), with(changed)) << dump_json(more);
  }
  Json idle = greedy;
  for (const std::string_view name : server::OllamaOptions::kWithoutEffect) idle[std::string(name)] = 1;
  EXPECT_EQ(with(idle), with(greedy));
  const Json prompt = read(post(api, "/api/chat", asking()))["prompt_eval_count"];
  const Json cut = read(post(api, "/api/chat", asking({{"options", {{"num_ctx", *as_int(prompt) + 3}}}})));
  EXPECT_EQ(cut["eval_count"], 3);
}

TEST_F(Ollama, FormatsAndToolsHold) {
  Api api(engine(), "small");
  const Json schema = parse_json(R"({"type":"object","properties":{"n":{"enum":[1,2]}},"required":["n"],
                                     "additionalProperties":false})")
                          .value();
  const Json formed = read(post(api, "/api/chat", asking({{"format", schema}, {"options", {{"num_predict", 40}}}})));
  EXPECT_TRUE(parse_json(*as_string(formed["message"]["content"])).value().contains("n"));
  const Json any = read(post(api, "/api/chat", asking({{"format", "json"}})));
  EXPECT_TRUE(as_string(any["message"]["content"])->starts_with("{"));
  const Json tools =
      parse_json(R"([{"type":"function","function":{"name":"roll","parameters":{"type":"object"}}}])").value();
  const Json free = read(post(api, "/api/chat", asking()));
  EXPECT_EQ(hash(read(post(api, "/api/chat", asking({{"tools", Json::array()}})))), hash(free));
  EXPECT_NE(hash(read(post(api, "/api/chat", asking({{"tools", tools}})))), hash(free));
  Json body = asking({{"tools", tools}});
  body["messages"].push_back(
      {{"role", "assistant"},
       {"content", ""},
       {"tool_calls", Json::array({Json{{"function", {{"name", "roll"}, {"arguments", Json::object()}}}}})}});
  body["messages"].push_back({{"role", "tool"}, {"content", "4"}, {"tool_name", "roll"}});
  const Json four = read(post(api, "/api/chat", body));
  body["messages"][2]["content"] = "5";
  EXPECT_NE(hash(read(post(api, "/api/chat", body))), hash(four));
}

TEST_F(Ollama, TheModelIsListedAndShown) {
  Api api(engine(), "small");
  const auto get = [&](const char* path) { return read(api.handle({"GET", path, "", ""})); };
  EXPECT_EQ(get("/api/version")["version"], LOOM_VERSION);
  EXPECT_EQ(get("/api/tags")["models"][0]["model"], "small:latest");
  EXPECT_EQ(get("/api/ps")["models"][0]["name"], "small:latest");
  const Json shown = read(post(api, "/api/show", {{"model", "small"}}));
  EXPECT_EQ(shown["capabilities"][0], "completion");
  EXPECT_EQ(shown["model_info"]["llama.context_length"], kContext);
  EXPECT_NE(as_string(shown["template"])->find("im_start"), std::string::npos);
  EXPECT_EQ(read(post(api, "/api/show", {{"name", "small:latest"}}))["details"]["family"], "llama");
  EXPECT_EQ(read(post(api, "/api/generate", {{"model", "small"}, {"stream", false}}))["done_reason"], "load");
  EXPECT_EQ(read(post(api, "/api/chat", {{"model", "small"}, {"stream", false}, {"keep_alive", 0}}))["done_reason"],
            "unload");
}

// Clients with a panel of options send the values that switch a sampler off.
TEST_F(Ollama, SamplersThatAreOffChangeNothing) {
  Api api(engine(), "small");
  const std::string plain = hash(read(post(api, "/api/chat", asking())));
  for (const Json& options : {Json{{"mirostat", 0}, {"mirostat_eta", 0.1}, {"mirostat_tau", 5}}, Json{{"tfs_z", 1.0}},
                              Json{{"mirostat", nullptr}, {"tfs_z", nullptr}}}) {
    Json given = options;
    given["num_predict"] = 12;
    EXPECT_EQ(hash(read(post(api, "/api/chat", asking({{"options", given}})))), plain) << dump_json(options);
  }
}

TEST_F(Ollama, TheLongestAnswerOfTheServerIsNamedByItsOption) {
  Api api({.engine = engine(), .answers = {.name = "small", .most_tokens = 10}});
  const Json refused = read(post(api, "/api/chat", asking()), 400);
  EXPECT_EQ(refused["error"], "/options/num_predict: an answer has at most 10 tokens on this server, got 12");
  const Json item{{"model", "small"}, {"input", "Hi"}, {"max_output_tokens", 12}};
  const Json response = read(post(api, "/v1/responses", item), 400);
  EXPECT_EQ(response["error"]["message"], "/max_output_tokens: an answer has at most 10 tokens on this server, got 12");
}

TEST_F(Ollama, WrongRequestsGetItsErrors) {
  Api api(engine(), "small");
  const auto error = [&](const std::string& path, const Json& body, int status, const std::string& named) {
    const Json json = read(post(api, path, body), status);
    ASSERT_TRUE(json["error"].is_string()) << dump_json(json);
    EXPECT_NE(as_string(json["error"])->find(named), std::string::npos) << dump_json(json);
  };
  error("/api/chat", Json::object(), 400, "/model: is missing");
  error("/api/chat", asking({{"options", {{"mirostat", 2}}}}), 400,
        "/options/mirostat: expected 0 (this sampler is off)");
  error("/api/chat", asking({{"options", {{"tfs_z", 0.5}}}}), 400, "/options/tfs_z: expected 1 (this sampler is off)");
  error("/api/chat", asking({{"options", {{"temperature", "hot"}}}}), 400, "/options/temperature");
  error("/api/chat", asking({{"options", {{"num_predict", 0}}}}), 400, "/options/num_predict");
  error("/api/chat", asking({{"options", {{"num_ctx", 4}}}}), 400, "num_ctx");
  error("/api/chat", asking({{"options", 3}}), 400, "/options");
  error("/api/chat", asking({{"think", true}}), 400, "/think");
  error("/api/chat", asking({{"format", "xml"}}), 400, "/format");
  error("/api/chat", asking({{"format", {{"not", Json::object()}}}}), 400, "/format");
  Json images = asking();
  images["messages"][0]["images"] = {"aGk="};
  error("/api/chat", images, 400, "images");
  Json orphan = asking();
  orphan["messages"].push_back({{"role", "tool"}, {"content", "4"}});
  error("/api/chat", orphan, 400, "/messages/1");
  error("/api/generate", {{"model", "small"}, {"prompt", "x"}, {"suffix", "y"}}, 400, "suffix");
  error("/api/generate", {{"model", "small"}, {"prompt", "x"}, {"context", {1}}}, 400, "context");
  error("/api/generate", {{"model", "small"}, {"prompt", {1}}}, 400, "/prompt");
  error("/api/generate", {{"model", "large"}, {"prompt", "x"}}, 404, "large");
  error("/api/show", {{"model", "large"}}, 404, "large");
  error("/api/embed", {{"model", "small"}, {"input", "x"}}, 400, "text encoder");
  error("/api/pull", {{"model", "x"}}, 404, "no such path");
  EXPECT_EQ(api.handle({"GET", "/api/chat", "", ""}).status, 405);
}

}  // namespace
}  // namespace loom::server_api_ollama_test
