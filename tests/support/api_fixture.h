#pragma once
// For tests of the API: the first block of SmolLM2 with a context of 512 tokens.

#include <gtest/gtest.h>

#include "server/api.h"
#include "small_model.h"

namespace loom::test {

// A response that is written later, as a client gets it.
inline HttpResponse whole(HttpResponse response) {
  if (!response.later) return response;
  const HttpReply::Parts parts = response.later->take_all();
  return {parts.head->status, parts.head->content_type, parts.text};
}

// The data of a chat's server-sent events, the last one left out.
inline std::vector<Json> events_of(const std::string& body) {
  std::vector<Json> events;
  for (std::size_t at = 0, end; (end = body.find("\n\n", at)) != std::string::npos; at = end + 2) {
    const std::string line = body.substr(at, end - at);
    EXPECT_TRUE(line.starts_with("data: ")) << line;
    if (line != "data: [DONE]") events.push_back(parse_json(line.substr(6)).value());
  }
  EXPECT_TRUE(body.ends_with("data: [DONE]\n\n"));
  return events;
}

class ApiFixture : public testing::Test {
 protected:
  static constexpr std::size_t kContext = 512;

  static void SetUpTestSuite() {
    folder_ = new TempFolder;
    ASSERT_TRUE(write_small_model(*folder_ / "small.gguf"));
    model_ = new LanguageModel(load_language_model(*folder_ / "small.gguf").value());
  }
  static void TearDownTestSuite() {
    delete model_;
    delete folder_;
  }

  static std::shared_ptr<server::Engine> engine(std::size_t most_waiting = 8, std::size_t parallel = 1) {
    auto session =
        Session::create(model_->decoder,
                        {.threads = 1, .context_tokens = kContext, .sequences = parallel, .chunk_rows = 64 + parallel})
            .value();
    return server::Engine::start(*model_, std::move(session),
                                 {.most_waiting = most_waiting, .parallel = parallel, .batch_tokens = 64})
        .value();
  }
  static HttpResponse post(server::Api& api, const std::string& path, const Json& body) {
    return test::whole(api.handle({"POST", path, "", dump_json(body)}));
  }
  static HttpResponse ask(server::Api& api, const Json& body) { return post(api, "/v1/chat/completions", body); }
  static Json question(Json more = Json::object()) {
    more["messages"] = Json::array({Json{{"role", "user"}, {"content", "What is gravity?"}}});
    if (!more.contains("max_tokens")) more["max_tokens"] = 12;
    return more;
  }
  static Json read(const HttpResponse& response, int status = 200) {
    EXPECT_EQ(response.status, status) << response.body;
    const auto json = parse_json(response.body);
    EXPECT_TRUE(json) << response.body;
    return json ? *json : Json();
  }
  static Json answer(server::Api& api, const Json& body) { return read(ask(api, body)); }
  static std::string hash(const Json& answer) { return *as_string(answer["loom"]["hash"]); }

  static inline TempFolder* folder_ = nullptr;
  static inline LanguageModel* model_ = nullptr;
};

}  // namespace loom::test
