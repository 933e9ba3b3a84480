#pragma once
// The response of POST /v1/chat/completions or /v1/completions: one object, or server-sent events with the pieces of
// its answers.

#include <memory>
#include <optional>
#include <string>
#include <vector>

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

  // Sends a piece of a streamed choice. Returns false when nobody reads any more.
  bool on_text(std::size_t choice, std::string_view text);
  bool is_wanted() const { return !has_failed_ && to_->is_open(); }
  // An error of one choice ends the others; in a stream that has begun it is the last event.
  void on_end(std::size_t choice, Result<Answer> answer);

 private:
  Json object(const char* kind) const;
  Json choice_object(std::size_t choice, const char* content_name, Json content) const;
  Json piece(std::string_view text) const;
  bool event(const Json& data);
  bool chunk(std::size_t choice, Json content);
  const char* chunk_kind() const { return is_chat_ ? "chat.completion.chunk" : "text_completion"; }
  Json usage() const;
  Json logprobs_of(const Generation& generation) const;
  Json named(const TokenLogprob& token) const;
  void begin();
  void fail_with(const Error& error);

  const std::shared_ptr<HttpReply> to_;
  const std::shared_ptr<const text::Tokenizer> tokenizer_;
  const ChatNames names_;
  const bool is_chat_, streams_, includes_usage_, has_logprobs_, lists_others_;
  std::vector<std::optional<Answer>> answers_;  // [choice], absent until it ends
  std::size_t missing_;
  bool has_begun_ = false;
  bool has_failed_ = false;
};

}  // namespace loom::server
