#pragma once
// OpenAI's HTTP interface to one model, without sockets: a request comes in, a response or its parts go out.
//   GET  /v1/models, /v1/models/NAME   the model
//   POST /v1/chat/completions          an answer, whole or as server-sent events
//   POST /v1/completions               a text that goes on, likewise
//   GET  /health                       {"status": "ok", "requests": N}
//   GET  /metrics                      counts in the text format of Prometheus
// Errors are OpenAI's object {"error": {"message", "type", "param", "code"}}. An answer carries beside OpenAI's members
// "loom": {"hash"}, the hash of its tokens and of the bits of the last logits, which `loom generate` prints too.

#include <atomic>
#include <memory>
#include <string>

#include "core/json_fwd.h"
#include "http/http_message.h"
#include "server/chat_request.h"
#include "server/engine.h"

namespace loom::server {

class Api {
 public:
  // `name` is what clients call the model.
  Api(std::shared_ptr<Engine> engine, std::string name) : engine_(std::move(engine)), name_(std::move(name)) {}

  HttpResponse handle(const HttpRequest& request);

 private:
  HttpResponse models(const HttpRequest& request) const;
  HttpResponse health() const;
  HttpResponse metrics() const;
  Result<HttpResponse> answer(ChatRequest request);
  Result<std::vector<std::int32_t>> prompt_of(ChatRequest& request) const;

  const std::shared_ptr<Engine> engine_;
  const std::string name_;
  std::atomic<std::uint64_t> answers_ = 0;  // numbers of answers
};

HttpResponse api_error(const Error& error);

}  // namespace loom::server
