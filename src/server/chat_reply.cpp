#include "server/chat_reply.h"

#include <utility>

#include "core/numerics_version.h"
#include "core/sha256.h"
#include "server/api.h"

namespace loom::server {
namespace {

const char* finish_reason(StopReason reason) {
  return reason == StopReason::Length || reason == StopReason::Context ? "length" : "stop";
}

}  // namespace

ChatReply::ChatReply(std::shared_ptr<HttpReply> to, std::shared_ptr<const text::Tokenizer> tokenizer, ChatNames names,
                     const ChatRequest& request)
    : to_(std::move(to)),
      tokenizer_(std::move(tokenizer)),
      names_(std::move(names)),
      is_chat_(!request.messages.is_null()),
      streams_(request.stream),
      includes_usage_(request.include_usage),
      has_logprobs_(request.generation.logprobs != 0),
      lists_others_(request.lists_others),
      answers_(request.choices),
      missing_(request.choices) {}

Json ChatReply::object(const char* kind) const {
  return Json{{"id", names_.id},
              {"object", kind},
              {"created", names_.created},
              {"model", names_.model},
              {"system_fingerprint", fmt::format("loom-numerics-{}", kNumericsVersion)}};
}

bool ChatReply::event(const Json& data) { return to_->write("data: " + dump_json(data) + "\n\n"); }

// The first choice speaks for the prompt: the others begin with what it has read.
Json ChatReply::usage() const {
  const std::size_t prompt = answers_[0]->generation.prompt_ids.size();
  std::size_t written = 0;
  for (const auto& answer : answers_) written += answer->generation.ids.size();
  return Json{{"prompt_tokens", prompt},
              {"completion_tokens", written},
              {"total_tokens", prompt + written},
              {"prompt_tokens_details", {{"cached_tokens", answers_[0]->cached_tokens}}}};
}

// Reason, log-probabilities and, beside others, the hash are those of the answer, null before it has ended.
Json ChatReply::choice_object(std::size_t choice, const char* content_name, Json content) const {
  Json json{{"index", choice}, {content_name, std::move(content)}, {"logprobs", nullptr}, {"finish_reason", nullptr}};
  if (const auto& answer = answers_[choice]) {
    json["logprobs"] = logprobs_of(answer->generation);
    json["finish_reason"] = finish_reason(answer->generation.stop_reason);
    if (answers_.size() > 1) json["loom"] = Json{{"hash", to_hex(answer->generation.hash)}};
  }
  return json;
}

bool ChatReply::chunk(std::size_t choice, Json content) {
  Json json = object(chunk_kind());
  json["choices"] = Json::array({choice_object(choice, is_chat_ ? "delta" : "text", std::move(content))});
  return event(json);
}

// The status says that all went well, so an error that comes before the first token can still have its own.
void ChatReply::begin() {
  if (std::exchange(has_begun_, true)) return;
  to_->begin({200, "text/event-stream; charset=utf-8"});
  for (std::size_t choice = 0; is_chat_ && choice < answers_.size(); ++choice)
    chunk(choice, {{"role", "assistant"}, {"content", ""}});
}

bool ChatReply::on_text(std::size_t choice, std::string_view text) {
  if (!streams_ || has_failed_) return is_wanted();
  begin();
  return chunk(choice, piece(text));
}

// The text of a stream's event; none at its end.
Json ChatReply::piece(std::string_view text) const {
  if (!is_chat_) return std::string(text);
  return text.empty() ? Json::object() : Json{{"content", std::string(text)}};
}

Json ChatReply::named(const TokenLogprob& token) const {
  const std::string bytes = tokenizer_->decode(std::span(&token.id, 1));
  Json list = Json::array();
  for (const char c : bytes) list.push_back(static_cast<unsigned char>(c));
  return Json{{"token", bytes}, {"logprob", token.logprob}, {"bytes", std::move(list)}};
}

Json ChatReply::logprobs_of(const Generation& generation) const {
  if (!has_logprobs_) return nullptr;
  Json content = Json::array();
  for (const std::vector<TokenLogprob>& best : generation.logprobs) {  // the drawn token first
    Json entry = named(best[0]);
    entry["top_logprobs"] = Json::array();
    for (std::size_t k = 1; lists_others_ && k < best.size(); ++k) entry["top_logprobs"].push_back(named(best[k]));
    content.push_back(std::move(entry));
  }
  return Json{{"content", std::move(content)}};
}

void ChatReply::fail_with(const Error& error) {
  if (std::exchange(has_failed_, true)) return;
  const HttpResponse response = api_error(error);
  if (!has_begun_) return to_->send({response.status, response.content_type}, response.body);
  to_->write("data: " + response.body + "\n");
  to_->finish();
}

void ChatReply::on_end(std::size_t choice, Result<Answer> answer) {
  if (!answer) return fail_with(answer.error());
  if (has_failed_) return;
  answers_[choice] = *std::move(answer);
  const bool is_last = --missing_ == 0;
  const Json own{{"hash", is_last ? to_hex(answers_[0]->generation.hash) : ""}};
  if (streams_) {
    begin();
    chunk(choice, piece({}));
    if (!is_last) return;
    if (includes_usage_) {
      Json json = object(chunk_kind());
      json["choices"] = Json::array(), json["usage"] = usage(), json["loom"] = own;
      event(json);
    }
    to_->write("data: [DONE]\n\n");
    return to_->finish();
  }
  if (!is_last) return;
  Json json = object(is_chat_ ? "chat.completion" : "text_completion");
  json["choices"] = Json::array();
  for (std::size_t i = 0; i < answers_.size(); ++i) {
    Json text = answers_[i]->generation.text;
    if (is_chat_) text = Json{{"role", "assistant"}, {"content", std::move(text)}};
    json["choices"].push_back(choice_object(i, is_chat_ ? "message" : "text", std::move(text)));
  }
  json["usage"] = usage(), json["loom"] = own;
  to_->send({200, "application/json"}, dump_json(json) + "\n");
}

}  // namespace loom::server
