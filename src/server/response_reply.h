#pragma once
// The response of POST /v1/responses: one object, or server-sent events with its items as they grow.

#include <memory>
#include <optional>
#include <string>

#include "http/http_reply.h"
#include "server/answers.h"
#include "server/chat_reply.h"

namespace loom::server {

class ResponseReply final : public AnswerReceiver {
 public:
  // `names.id` without its beginning "resp_".
  ResponseReply(std::shared_ptr<HttpReply> to, std::shared_ptr<const text::Tokenizer> tokenizer, ChatNames names,
                const Prepared& prepared, Json echo);

  bool on_text(std::size_t choice, std::string_view text) override;
  bool is_wanted() const override { return !has_failed_ && to_->is_open(); }
  void on_end(std::size_t choice, Result<Answer> answer) override;

 private:
  Json response(std::string_view status) const;
  void begin();
  void event(const char* type, const Json& data);
  // An item with one part that grows: thoughts or a message.
  struct ItemKind {
    const char *item, *id, *part, *delta, *done;  // type of the item, beginning of its id, types of part and events
  };
  static const ItemKind kThoughts, kMessage;

  // Passes a piece of the answer, or the whole one, on to thoughts, text and calls. `is_last`: nothing comes after it.
  void read(std::string_view text, bool is_last);
  void take(const CallReader::Found& found);
  void add(const ItemKind& kind, std::string_view text);
  void add_call(const ToolCall& call);
  // `status`: of the item, which is incomplete where the answer was cut in it.
  void close_item(const char* status = "completed");
  std::size_t thought_tokens() const;
  Json item_event(const Json& item) const;

  const std::shared_ptr<HttpReply> to_;
  const std::shared_ptr<const text::Tokenizer> tokenizer_;
  const ChatNames names_;
  const Json echo_;
  const bool streams_;
  const std::string id_seed_;
  std::optional<ThoughtReader> thinking_;
  std::optional<CallReader> reader_;
  Json output_ = Json::array();
  const ItemKind* open_ = nullptr;  // kind of the last item while it may grow; null: it is complete
  std::size_t calls_ = 0, events_ = 0;
  std::optional<Answer> answer_;
  bool has_begun_ = false, has_failed_ = false;
};

}  // namespace loom::server
