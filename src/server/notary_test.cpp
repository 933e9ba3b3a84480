// Receipts of answers over the server: what is in them, beside other requests, and that replay computes them again.

#include "server/notary.h"

#include <set>
#include <thread>

#include "host/replay_receipt.h"
#include "host/shown_answers.h"
#include "server/api.h"
#include "support/small_model.h"

namespace loom::server_notary_test {
namespace {

using server::Api;
using server::Engine;

// The first block of SmolLM2 with a context of 256 tokens, four requests at once.
class ReceiptsOfTheServer : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new test::TempFolder;
    ASSERT_TRUE(test::write_small_model(path()));
    LanguageModel model = load_language_model(path()).value();
    auto session = Session::create(model.decoder, {.threads = 1, .context_tokens = 256, .sequences = 8}).value();
    engine_ = new std::shared_ptr<Engine>(Engine::start(std::move(model), std::move(session), {.parallel = 4}).value());
  }
  static void TearDownTestSuite() {
    delete engine_;
    delete folder_;
  }
  static std::string path() { return *folder_ / "small.gguf"; }
  static HttpResponse ask(Api& api, Json body, const std::string& at = "/v1/chat/completions") {
    if (at == "/v1/chat/completions" && !body.contains("messages"))
      body["messages"] = Json::array({Json{{"role", "user"}, {"content", "What is gravity?"}}});
    if (!body.contains("max_tokens")) body["max_tokens"] = 12;
    HttpResponse response = api.handle({"POST", at, "", dump_json(body)});
    if (!response.later) return response;
    const HttpReply::Parts parts = response.later->take_all();
    return {parts.head->status, parts.head->content_type, parts.text};
  }
  // The receipts of a saved response.
  static std::vector<Json> receipts(const HttpResponse& response) {
    EXPECT_EQ(response.status, 200) << response.body;
    const test::TempFolder folder;
    test::write_all(folder / "response", response.body);
    auto found = read_receipts(folder / "response");
    EXPECT_TRUE(found) << found.error().text();
    EXPECT_EQ(shown_difference(folder / "response").value_or("error"), "") << response.body;
    return found.value_or(std::vector<Json>{});
  }
  static std::string difference(const Json& receipt) {
    const auto replay = replay_receipt(receipt, {.model = path(), .threads = 1});
    EXPECT_TRUE(replay) << replay.error().text();
    return replay ? replay->difference : "error";
  }
  static void expect_equal(const HttpResponse& response, std::size_t count = 1) {
    const std::vector<Json> found = receipts(response);
    EXPECT_EQ(found.size(), count);
    for (const Json& receipt : found) EXPECT_EQ(difference(receipt), "") << dump_json(receipt["generation"]);
  }

  static inline test::TempFolder* folder_ = nullptr;
  static inline std::shared_ptr<Engine>* engine_ = nullptr;
};

TEST_F(ReceiptsOfTheServer, AreThoseOfTheAnswerAndReplayEqual) {
  Api api(*engine_, "small");
  const HttpResponse response = ask(api, {{"receipt", true}, {"temperature", 0.8}, {"seed", 5}, {"stop", "zz"}});
  const Json json = parse_json(response.body).value();
  const Json receipt = receipts(response).at(0);
  EXPECT_EQ(receipt["result"]["hash"], json["loom"]["hash"]);
  EXPECT_EQ(receipt["result"]["text"], json["choices"][0]["message"]["content"]);
  EXPECT_EQ(receipt["generation"]["seed"], "5");
  EXPECT_EQ(receipt["model"]["path"], "small.gguf");  // without the folder
  EXPECT_EQ(receipt["model"]["sha256"], to_hex(content_hash(path()).value()));
  EXPECT_EQ(receipt["trace"]["layers"].size(), 4u);
  EXPECT_EQ(difference(receipt), "");
  const Json without = parse_json(ask(api, {{"receipt", false}}).body).value();
  EXPECT_FALSE(without["choices"][0].contains("loom"));
}

TEST_F(ReceiptsOfTheServer, EveryKindOfRequestHasThem) {
  Api api(*engine_, "small");
  expect_equal(ask(api, {{"receipt", true}, {"stream", true}}));
  expect_equal(ask(api, {{"receipt", true}, {"n", 3}, {"temperature", 1}, {"seed", 2}}), 3);
  expect_equal(ask(api, {{"receipt", true}, {"n", 2}, {"temperature", 1}, {"stream", true}}), 2);
  expect_equal(ask(api, {{"receipt", true}, {"guided_regex", "[a-z ]{3,9}"}}));
  expect_equal(ask(api, {{"receipt", true}, {"logprobs", true}, {"top_logprobs", 2}, {"logit_bias", {{"7", -100}}}}));
  expect_equal(ask(api, {{"receipt", true}, {"prompt", "Gravity is"}, {"max_tokens", 9}}, "/v1/completions"));
  expect_equal(ask(api, {{"receipt", true}, {"prompt", {5, 6, 7}}, {"max_tokens", 1}}, "/v1/completions"));
  expect_equal(ask(api, {{"receipt", true}, {"prompt", {"Gravity is", "Light"}}, {"n", 2}}, "/v1/completions"), 4);
  const HttpResponse refused = ask(api, {{"receipt", "yes"}});
  EXPECT_EQ(refused.status, 400);
  EXPECT_NE(refused.body.find("/receipt"), std::string::npos) << refused.body;
}

// In the form of a template without tools, and in one whose marks are control tokens of the vocabulary.
TEST_F(ReceiptsOfTheServer, AnswersThatMayCallFunctionsHaveThem) {
  constexpr const char* kMarked =
      "{% if tools %}<|im_start|>system\n{{ tools | tojson }}<|im_end|>\n{% endif %}"
      "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content or '' }}{% for c in m.tool_calls or [] "
      "%}<file_sep>"
      "{{ {'name': c.function.name, 'arguments': c.function.arguments} | tojson }}<reponame>{% endfor %}"
      "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";
  const Json tools = parse_json(R"([{"type":"function","function":{"name":"roll","parameters":{"type":"object",
      "properties":{"n":{"enum":[6,20]}},"required":["n"],"additionalProperties":false}}}])")
                         .value();
  Api own(*engine_, "small");
  Api marked({.engine = *engine_, .answers = {.name = "small", .chat_template = ChatTemplate::parse(kMarked).value()}});
  for (Api* const api : {&own, &marked}) {
    Json body{{"receipt", true}, {"tools", tools}, {"max_tokens", 150}};
    expect_equal(ask(*api, body));
    body["tool_choice"] = "required", body["parallel_tool_calls"] = false;
    const HttpResponse called = ask(*api, body);
    expect_equal(called);
    EXPECT_EQ(parse_json(called.body).value()["choices"][0]["finish_reason"], "tool_calls");
    const Json receipt = receipts(called).at(0);
    EXPECT_EQ(receipt["form"]["kind"], "calls");
    EXPECT_EQ(receipt["generation"].contains("visible_ids"), api == &marked);
    Json other = receipt;
    other["form"]["texts"][0] = "{}";
    EXPECT_NE(difference(other), "");
    body["stream"] = true, body["n"] = 2, body["temperature"] = 1.5;
    expect_equal(ask(*api, body), 2);
  }
}

// Beside others, after a beginning that is cached, whole and as a stream: only the machine may differ.
TEST_F(ReceiptsOfTheServer, AnAnswerThatRanOutOfTimeHasNone) {
  for (const int limit_ms : {20, 40, 80, 160, 320}) {
    Api api({.engine = *engine_, .answers = {.name = "small", .timeout = std::chrono::milliseconds(limit_ms)}});
    const HttpResponse response = ask(api, {{"receipt", true}, {"max_tokens", 220}, {"ignore_eos", true}});
    if (response.status == 429) continue;  // nothing had begun
    ASSERT_EQ(response.status, 200) << response.body;
    const Json json = parse_json(response.body).value();
    EXPECT_EQ(json["choices"][0]["finish_reason"], "length");
    EXPECT_LT(*as_int(json["usage"]["completion_tokens"]), 220);
    EXPECT_FALSE(json["choices"][0].contains("loom"));
    EXPECT_TRUE(json["loom"].contains("hash"));
    return;
  }
  FAIL() << "no answer had begun after 320 ms";
}

TEST_F(ReceiptsOfTheServer, DoNotDependOnOtherRequests) {
  Api api(*engine_, "small");
  const Json body{{"receipt", true}, {"temperature", 0.5}, {"seed", 9}};
  const Json alone = receipts(ask(api, body)).at(0);
  std::vector<std::thread> clients;
  std::vector<std::string> found(6);
  for (std::size_t i = 0; i < found.size(); ++i)
    clients.emplace_back([&, i] {
      Json other = body;
      if (i % 2 == 1) other["seed"] = i;
      other["stream"] = i % 3 == 0;
      const std::vector<Json> got = receipts(ask(api, other));
      found[i] = got.empty() ? "none" : dump_json(got[0]);
    });
  for (std::thread& client : clients) client.join();
  for (std::size_t i = 0; i < found.size(); i += 2) EXPECT_EQ(found[i], dump_json(alone)) << i;
  EXPECT_EQ(std::set(found.begin(), found.end()).size(), 4u);
}

TEST_F(ReceiptsOfTheServer, AnotherModelIsFoundAndItsLayerNamed) {
  Api api(*engine_, "small");
  const Json receipt = receipts(ask(api, {{"receipt", true}})).at(0);
  const std::string other = *folder_ / "other.gguf";
  std::string bytes = test::read_all(path());
  const GgufFile file = GgufFile::open(path()).value();
  for (const GgufTensor& tensor : file.tensors())
    if (tensor.name == "blk.0.ffn_up.weight") {
      const auto whole = std::as_bytes(std::span(bytes));
      const auto at = std::search(whole.begin(), whole.end(), tensor.bytes.begin(), tensor.bytes.begin() + 64);
      bytes[static_cast<std::size_t>(at - whole.begin()) + 9] ^= 4;
    }
  test::write_all(other, bytes);
  const auto replay = replay_receipt(receipt, {.model = other, .threads = 1});
  ASSERT_TRUE(replay) << replay.error().text();
  EXPECT_TRUE(replay->difference.ends_with("first layer whose weights differ: layer 0")) << replay->difference;
}

TEST(Notary, EndsWhatWaits) {
  const LanguageModel model = load_language_model(test::source_path("tests/golden/models/llama2_untied")).value();
  const auto session = Session::create(model.decoder, {.threads = 1, .context_tokens = 64}).value();
  GenerationOptions options;
  options.max_tokens = 3;
  const std::vector<std::int32_t> prompt{1, 2, 3};
  const Generation answer = generate(*session, model, prompt, options).value();
  const Receipt receipt = receipt_of(model, *session, options, answer, {}).value();
  std::vector<Code> ends;
  std::size_t sealed = 0;
  {
    server::Notary notary;
    for (int i = 0; i < 50; ++i)
      notary.submit(
          receipt, *session, [i] { return i != 0; },
          [&](Result<Json> done) { done ? void(++sealed) : ends.push_back(done.error().code); });
  }
  EXPECT_EQ(sealed + ends.size(), 50u);
  ASSERT_FALSE(ends.empty());
  for (const Code code : ends) EXPECT_EQ(code, Code::Cancelled);
}

}  // namespace
}  // namespace loom::server_notary_test
