#pragma once
// The HTTP interfaces to one model, without sockets: a request comes in, a response or its parts go out. routes() lists
// the paths, GET /openapi.json describes them. Errors are those of the interface: OpenAI's object {"error": {"message",
// "type", "param", "code"}}, below /api/ Ollama's {"error": "message"}. An answer carries beside the interface's
// members "loom": {"hash"}, the hash of its tokens and of the bits of the last logits, which `loom generate` prints
// too; vectors carry the hash of `loom embed`. With "receipt": true each choice of a chat or a completion carries
// "loom": {"hash", "receipt"} (host/receipt.h).

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "http/http_message.h"
#include "server/answers.h"
#include "server/chat_reply.h"
#include "server/embedder.h"
#include "server/errors.h"
#include "server/ollama.h"

namespace loom::server {

// A model that writes, a text encoder, or both.
struct ApiModels {
  std::shared_ptr<Engine> engine{};      // null: none
  std::shared_ptr<Embedder> embedder{};  // null: none
  AnswerOptions answers{};
  std::vector<ModelCard> cards{};  // of both; empty: made from the models in memory
};

struct Route;
// All paths that are served.
std::span<const Route> routes();

class Api {
 public:
  // `name` is what clients call the model.
  Api(std::shared_ptr<Engine> engine, std::string name);
  explicit Api(ApiModels models);

  HttpResponse handle(const HttpRequest& request);

 private:
  friend std::span<const Route> routes();
  Result<HttpResponse> models(const HttpRequest& request);
  Result<HttpResponse> health(const HttpRequest& request);
  Result<HttpResponse> metrics(const HttpRequest& request);
  Result<HttpResponse> openapi(const HttpRequest& request);
  Result<HttpResponse> chat(const HttpRequest& request);
  Result<HttpResponse> completions(const HttpRequest& request);
  Result<HttpResponse> responses(const HttpRequest& request);
  Result<HttpResponse> embeddings(const HttpRequest& request);
  Result<HttpResponse> rerank(const HttpRequest& request);
  Result<HttpResponse> tokenize(const HttpRequest& request);
  Result<HttpResponse> detokenize(const HttpRequest& request);
  Result<HttpResponse> version(const HttpRequest& request);
  Result<HttpResponse> tags(const HttpRequest& request);
  Result<HttpResponse> running(const HttpRequest& request);
  Result<HttpResponse> show(const HttpRequest& request);
  Result<HttpResponse> ollama_chat(const HttpRequest& request);
  Result<HttpResponse> ollama_generate(const HttpRequest& request);
  Result<HttpResponse> ollama_embed(const HttpRequest& request);
  Result<HttpResponse> ollama_embedding(const HttpRequest& request);
  Result<HttpResponse> answer(ChatRequest request);
  ChatNames names_of_answer();
  std::string served() const;

  const ApiModels models_;
  std::optional<Answers> answers_;        // absent without an engine
  std::atomic<std::uint64_t> count_ = 0;  // numbers of answers
};

// A path that is served.
struct Route {
  enum class Needs : std::uint8_t { Nothing, Language, Encoder };
  std::string_view method, path, summary;
  Needs needs = Needs::Nothing;
  Result<HttpResponse> (Api::*handler)(const HttpRequest&) = nullptr;
  RequestTable (*body)() = nullptr;  // null: the request has none
};

}  // namespace loom::server
