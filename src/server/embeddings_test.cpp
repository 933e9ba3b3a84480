// Vectors over the API: OpenAI's, Jina's and Ollama's paths.

#include <gtest/gtest.h>

#include <cmath>

#include "core/base64.h"
#include "core/json.h"
#include "core/little_endian.h"
#include "host/receipt.h"
#include "server/api.h"
#include "server/model_card.h"
#include "support/api_fixture.h"

namespace loom::server_embeddings_test {
namespace {

using server::Api;

std::string folder() { return test::data_path("minilm"); }

Json read(const HttpResponse& response, int status = 200) {
  EXPECT_EQ(response.status, status) << response.body;
  return parse_json(response.body).value();
}

class Embeddings : public testing::Test {
 protected:
  static Api api() {
    TextEncoder encoder = TextEncoder::load(folder()).value();
    server::ApiModels models;
    models.cards.push_back(server::card_of(encoder, folder(), "dense"));
    models.embedder = std::make_shared<server::Embedder>(std::move(encoder), "dense", 4);
    return Api(std::move(models));
  }
  static HttpResponse post(Api& api, const std::string& path, const Json& body) {
    return test::whole(api.handle({"POST", path, "", dump_json(body)}));
  }
};

TEST_F(Embeddings, AreThoseOfTheLibraryInBothEncodings) {
  TextEncoder encoder = TextEncoder::load(folder()).value();
  const std::vector<std::string> texts = {"a b", "b a c", "a b"};
  const auto expected = encoder.embed(texts).value();
  Api api = Embeddings::api();
  const Json json = read(post(api, "/v1/embeddings", {{"input", texts}, {"model", "dense"}}));
  ASSERT_EQ(json["data"].size(), 3u);
  const Json coded = read(post(api, "/v1/embeddings", {{"input", texts}, {"encoding_format", "base64"}}));
  std::size_t tokens = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    tokens += expected[i].tokens;
    EXPECT_EQ(json["data"][i]["index"], i);
    const auto bytes = base64_decode(*as_string(coded["data"][i]["embedding"])).value();
    ASSERT_EQ(bytes.size(), expected[i].values.size() * sizeof(float));
    for (std::size_t k = 0; k < expected[i].values.size(); ++k) {
      EXPECT_EQ(static_cast<float>(*as_number(json["data"][i]["embedding"][k])), expected[i].values[k]);
      EXPECT_EQ(load_le<float>(bytes.data() + k * sizeof(float)), expected[i].values[k]);
    }
  }
  EXPECT_EQ(json["usage"]["prompt_tokens"], tokens);
  EXPECT_EQ(json["loom"]["hash"], to_hex(hash_of(expected)));
  const Json one = read(post(api, "/v1/embeddings", {{"input", "a b"}, {"dimensions", encoder.dimensions()}}));
  EXPECT_EQ(one["data"][0]["embedding"], json["data"][0]["embedding"]);
}

TEST_F(Embeddings, TokenIdsAreReadAsTheyAre) {
  TextEncoder encoder = TextEncoder::load(folder()).value();
  std::vector<std::int32_t> one, two;
  ASSERT_TRUE(encoder.tokenizer()->encode("a b", {}, one));
  ASSERT_TRUE(encoder.tokenizer()->encode("b a c", {}, two));
  Api api = Embeddings::api();
  const Json expected = read(post(api, "/v1/embeddings", {{"input", {"a b", "b a c"}}}));
  const Json both = read(post(api, "/v1/embeddings", {{"input", Json::array({Json(one), Json(two)})}}));
  EXPECT_EQ(both["data"], expected["data"]);
  EXPECT_EQ(both["usage"], expected["usage"]);
  EXPECT_EQ(both["loom"]["hash"], expected["loom"]["hash"]);
  const Json alone = read(post(api, "/v1/embeddings", {{"input", one}}));
  EXPECT_EQ(alone["data"][0]["embedding"], expected["data"][0]["embedding"]);
  one.pop_back();  // the token that ends a text is not added
  EXPECT_NE(read(post(api, "/v1/embeddings", {{"input", one}}))["data"][0]["embedding"],
            expected["data"][0]["embedding"]);
  const std::vector<std::int32_t> many(encoder.max_tokens() + 1, one[0]);
  EXPECT_EQ(read(post(api, "/v1/embeddings", {{"input", many}}), 400)["error"]["code"], "context_length_exceeded");
}

TEST_F(Embeddings, FewerDimensionsAreTheFirstOnesAtALengthOfOne) {
  Api api = Embeddings::api();
  const Json whole = read(post(api, "/v1/embeddings", {{"input", "a b"}}));
  const Json& values = whole["data"][0]["embedding"];
  for (const std::size_t count : {std::size_t{1}, std::size_t{7}, values.size()}) {
    const Json cut = read(post(api, "/v1/embeddings", {{"input", "a b"}, {"dimensions", count}}));
    const Json& few = cut["data"][0]["embedding"];
    ASSERT_EQ(few.size(), count);
    double squares = 0, expected = 0;
    for (std::size_t i = 0; i < count; ++i) {
      squares += *as_number(few[i]) * *as_number(few[i]);
      expected += *as_number(values[i]) * *as_number(values[i]);
    }
    EXPECT_NEAR(squares, 1, 1e-6);
    for (std::size_t i = 0; i < count; ++i)
      EXPECT_NEAR(*as_number(few[i]), *as_number(values[i]) / std::sqrt(expected), 1e-6);
    const Json ollama = read(post(api, "/api/embed", {{"model", "dense"}, {"input", "a b"}, {"dimensions", count}}));
    EXPECT_EQ(ollama["embeddings"][0], few);
    EXPECT_EQ(ollama["loom"]["hash"], cut["loom"]["hash"]);
  }
}

TEST_F(Embeddings, OllamasPathsGiveTheSameVectors) {
  Api api = Embeddings::api();
  const Json expected = read(post(api, "/v1/embeddings", {{"input", {"a b", "c"}}}));
  const Json several =
      read(post(api, "/api/embed", {{"model", "dense"}, {"input", {"a b", "c"}}, {"options", Json::object()}}));
  ASSERT_EQ(several["embeddings"].size(), 2u);
  EXPECT_EQ(several["embeddings"][1], expected["data"][1]["embedding"]);
  EXPECT_EQ(several["prompt_eval_count"], expected["usage"]["prompt_tokens"]);
  const Json one = read(post(api, "/api/embeddings", {{"model", "dense:latest"}, {"prompt", "a b"}}));
  EXPECT_EQ(one["embedding"], expected["data"][0]["embedding"]);
  std::string longer;
  for (int i = 0; i < 600; ++i) longer += "a ";
  EXPECT_EQ(read(post(api, "/api/embed", {{"model", "dense"}, {"input", longer}}))["embeddings"].size(), 1u);
  EXPECT_TRUE(read(post(api, "/api/embed", {{"model", "dense"}, {"input", longer}, {"truncate", false}}), 400)["error"]
                  .is_string());
  EXPECT_EQ(read(post(api, "/v1/embeddings", {{"input", longer}}), 400)["error"]["code"], "context_length_exceeded");
}

TEST_F(Embeddings, RerankOrdersByTheCosine) {
  Api api = Embeddings::api();
  const Json body{{"query", "a b"}, {"documents", {"c", Json{{"text", "a b"}}, "b a c"}}};
  const Json json = read(post(api, "/v1/rerank", body));
  ASSERT_EQ(json["results"].size(), 3u);
  EXPECT_EQ(json["results"][0]["index"], 1);
  EXPECT_NEAR(*as_number(json["results"][0]["relevance_score"]), 1.0, 1e-6);  // of a vector and itself, summed in f64
  EXPECT_EQ(json["results"][0]["document"]["text"], "a b");
  EXPECT_GE(*as_number(json["results"][1]["relevance_score"]), *as_number(json["results"][2]["relevance_score"]));
  Json few = body;
  few["top_n"] = 1, few["return_documents"] = false;
  const Json best = read(post(api, "/v1/rerank", few));
  ASSERT_EQ(best["results"].size(), 1u);
  EXPECT_FALSE(best["results"][0].contains("document"));
}

TEST_F(Embeddings, WrongRequestsAreNamed) {
  Api api = Embeddings::api();
  const auto error = [&](const std::string& path, const Json& body, int status, const std::string& named) {
    const HttpResponse response = post(api, path, body);
    EXPECT_EQ(response.status, status) << response.body;
    EXPECT_NE(response.body.find(named), std::string::npos) << response.body;
  };
  error("/v1/embeddings", Json::object(), 400, "/input: is missing");
  error("/v1/embeddings", {{"input", ""}}, 400, "/input/0");
  error("/v1/embeddings", {{"input", Json::array()}}, 400, "/input");
  error("/v1/embeddings", {{"input", {"a", 1}}}, 400, "/input/1: expected a text");
  error("/v1/embeddings", {{"input", {1, "a"}}}, 400, "/input/1: expected a token id from 0 to");
  error("/v1/embeddings", {{"input", {1, -1}}}, 400, "/input/1: expected a token id from 0 to");
  error("/v1/embeddings", {{"input", Json::array({{1, 99999999}})}}, 400, "/input/0/1: expected a token id from 0 to");
  error("/v1/embeddings", {{"input", Json::array({{1}, "a"})}}, 400, "/input/1: expected a list of token ids");
  error("/v1/embeddings", {{"input", Json::array({Json::array()})}}, 400, "/input/0: expected at least one token id");
  error("/v1/embeddings", {{"input", true}}, 400, "/input");
  error("/v1/embeddings", {{"input", "a"}, {"encoding_format", "base32"}}, 400, "encoding_format");
  error("/v1/embeddings", {{"input", "a"}, {"dimensions", 7000}}, 400, "/dimensions");
  error("/v1/embeddings", {{"input", "a"}, {"pooling", "max"}}, 400, "pooling");
  error("/v1/embeddings", {{"input", "a"}, {"model", "other"}}, 404, "dense");
  error("/v1/rerank", {{"query", "a"}}, 400, "/documents: is missing");
  error("/v1/rerank", {{"query", ""}, {"documents", {"a"}}}, 400, "/query");
  error("/v1/rerank", {{"query", "a"}, {"documents", "b"}}, 400, "/documents");
  error("/api/embed", {{"input", "a"}}, 400, "/model: is missing");
  error("/v1/chat/completions", {{"messages", Json::array()}}, 400, "text encoder");
  EXPECT_EQ(api.handle({"GET", "/v1/embeddings", "", ""}).status, 405);
}

TEST_F(Embeddings, AnEncoderIsKnownByItsConfig) {
  EXPECT_TRUE(server::is_encoder(folder()));
  EXPECT_FALSE(server::is_encoder(test::source_path("tests/golden/models/llama2_untied")));
  EXPECT_FALSE(server::is_encoder("no/such/folder"));
  Api api = Embeddings::api();
  const Json shown = read(post(api, "/api/show", {{"model", "dense"}}));
  EXPECT_EQ(shown["capabilities"], Json::array({"embedding"}));
  EXPECT_EQ(shown["details"]["family"], "bert");
}

}  // namespace
}  // namespace loom::server_embeddings_test
