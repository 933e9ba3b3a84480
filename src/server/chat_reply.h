#pragma once
// The response of POST /v1/chat/completions: one object, or server-sent events with the pieces of an answer.

#include <memory>
#include <string>

#include "http/http_reply.h"
#include "server/chat_request.h"
#include "server/engine.h"

namespace loom::server {

// The members that all objects of an answer share.
struct ChatNames {
  std::string id, model;
  std::int64_t created = 0;  // seconds since 1970
};

class ChatReply {
 public:
  ChatReply(std::shared_ptr<HttpReply> to, std::shared_ptr<const text::Tokenizer> tokenizer, ChatNames names,
            const ChatRequest& request);

  // Of a stream: sends a piece. False when nobody reads any more.
  bool on_text(std::string_view text);
  bool is_wanted() const { return to_->is_open(); }
  // An error of a stream that has begun is its last event.
  void on_end(const Result<Answer>& answer);

 private:
  Json object(const char* kind) const;
  bool event(const Json& data);
  bool chunk(Json delta, Json finish_reason, Json logprobs);
  Json logprobs_of(const Generation& generation) const;
  Json named(const TokenLogprob& token) const;
  void begin();

  const std::shared_ptr<HttpReply> to_;
  const std::shared_ptr<const text::Tokenizer> tokenizer_;
  const ChatNames names_;
  const bool streams_, includes_usage_, has_logprobs_, lists_others_;
  bool has_begun_ = false;
};

}  // namespace loom::server
