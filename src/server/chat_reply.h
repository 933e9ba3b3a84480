#pragma once
// The response of POST /v1/chat/completions or /v1/completions: one object, or server-sent events with the pieces of
// its answers.

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "http/http_reply.h"
#include "server/answers.h"

namespace loom::server {

// The members that all objects of an answer share.
struct ChatNames {
  std::string id, model;
  std::int64_t created = 0;  // seconds since 1970
};

// "loom-numerics-N".
std::string system_fingerprint();
const char* finish_reason(StopReason reason, bool has_calls);
// {"content": [{"token", "logprob", "bytes", "top_logprobs"}]}; `lists_others`: the tokens beside the drawn one.
Json logprobs_of(const text::Tokenizer& tokenizer, const Generation& generation, bool lists_others);

// Threads: the engine's sends pieces and ends, and the notary's ends of choices with receipts.
class ChatReply final : public AnswerReceiver {
 public:
  ChatReply(std::shared_ptr<HttpReply> to, std::shared_ptr<const text::Tokenizer> tokenizer, ChatNames names,
            const Prepared& prepared);

  bool on_text(std::size_t choice, std::string_view text) override;
  bool is_wanted() const override { return !has_failed_ && to_->is_open(); }
  // In a stream that has begun, an error is the last event.
  void on_end(std::size_t choice, Result<Answer> answer) override;

 private:
  struct Choice {
    std::optional<ThoughtReader> thinking;
    std::optional<CallReader> reader;
    std::string thoughts;  // of whole answers
    std::string text;      // beside the calls; of whole answers
    Json calls = Json::array();
    std::optional<Answer> answer;  // absent until it ends
  };
  Json object(const char* kind) const;
  Json choice_object(std::size_t choice, const char* content_name, Json content) const;
  Json piece(std::string_view text) const;
  Json message_of(std::size_t choice) const;
  bool event(const Json& data);
  bool chunk(std::size_t choice, Json content);
  bool read(std::size_t choice, std::string_view text, bool is_last);
  bool take_thoughts(std::size_t choice, const std::string& thoughts);
  bool take(std::size_t choice, const CallReader::Found& found);
  const char* chunk_kind() const { return is_chat_ ? "chat.completion.chunk" : "text_completion"; }
  Json usage() const;
  void begin();
  void fail_with(const Error& error);

  const std::shared_ptr<HttpReply> to_;
  const std::shared_ptr<const text::Tokenizer> tokenizer_;
  const ChatNames names_;
  const bool is_chat_, streams_, includes_usage_, has_logprobs_, lists_others_;
  const std::string id_seed_;
  const std::size_t choices_per_prompt_;
  std::vector<Choice> choices_;
  std::size_t missing_;
  bool has_begun_ = false;
  std::atomic<bool> has_failed_ = false;
  std::mutex mutex_;  // of a call of on_text() or on_end()
};

}  // namespace loom::server
