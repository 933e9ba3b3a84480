#include "server/chat_reply.h"

#include <utility>

#include "core/numerics_version.h"
#include "core/sha256.h"
#include "server/errors.h"

namespace loom::server {
namespace {

Json named(const text::Tokenizer& tokenizer, const TokenLogprob& token) {
  const std::string bytes = tokenizer.decode(std::span(&token.id, 1));
  Json list = Json::array();
  for (const char c : bytes) list.push_back(static_cast<unsigned char>(c));
  return Json{{"token", bytes}, {"logprob", token.logprob}, {"bytes", std::move(list)}};
}

}  // namespace

std::string system_fingerprint() { return fmt::format("loom-numerics-{}", kNumericsVersion); }

// A request that ran out of time is cut like one that ran out of tokens.
const char* finish_reason(StopReason reason, bool has_calls) {
  const bool is_cut = reason == StopReason::Length || reason == StopReason::Context || reason == StopReason::Cancelled;
  return is_cut ? "length" : has_calls ? "tool_calls" : "stop";
}

Json logprobs_of(const text::Tokenizer& tokenizer, const Generation& generation, bool lists_others) {
  Json content = Json::array();
  for (const std::vector<TokenLogprob>& best : generation.logprobs) {  // the drawn token first
    Json entry = named(tokenizer, best[0]);
    entry["top_logprobs"] = Json::array();
    for (std::size_t k = 1; lists_others && k < best.size(); ++k)
      entry["top_logprobs"].push_back(named(tokenizer, best[k]));
    content.push_back(std::move(entry));
  }
  return Json{{"content", std::move(content)}};
}

ChatReply::ChatReply(std::shared_ptr<HttpReply> to, std::shared_ptr<const text::Tokenizer> tokenizer, ChatNames names,
                     const Prepared& prepared)
    : to_(std::move(to)),
      tokenizer_(std::move(tokenizer)),
      names_(std::move(names)),
      is_chat_(!prepared.request.messages.is_null()),
      streams_(prepared.request.stream),
      includes_usage_(prepared.request.include_usage),
      has_logprobs_(prepared.request.generation.logprobs != 0),
      lists_others_(prepared.request.lists_others),
      id_seed_(prepared.id_seed),
      choices_per_prompt_(prepared.request.choices),
      choices_(prepared.num_choices()),
      missing_(prepared.num_choices()) {
  for (Choice& choice : choices_) choice.thinking = prepared.thoughts, choice.reader = prepared.reader();
}

Json ChatReply::object(const char* kind) const {
  return Json{{"id", names_.id},
              {"object", kind},
              {"created", names_.created},
              {"model", names_.model},
              {"system_fingerprint", system_fingerprint()}};
}

bool ChatReply::event(const Json& data) { return to_->write("data: " + dump_json(data) + "\n\n"); }

// The first choice speaks for its prompt: the others begin with what it has read.
Json ChatReply::usage() const {
  std::size_t prompt = 0, cached = 0, written = 0;
  for (std::size_t first = 0; first < choices_.size(); first += choices_per_prompt_) {
    prompt += choices_[first].answer->generation.prompt_ids.size();
    cached += choices_[first].answer->cached_tokens;
  }
  for (const Choice& choice : choices_) written += choice.answer->generation.ids.size();
  return Json{{"prompt_tokens", prompt},
              {"completion_tokens", written},
              {"total_tokens", prompt + written},
              {"prompt_tokens_details", {{"cached_tokens", cached}}}};
}

// Reason, log-probabilities, receipt and, beside others, the hash are those of the answer, null before it has ended.
Json ChatReply::choice_object(std::size_t choice, const char* content_name, Json content) const {
  Json json{{"index", choice}, {content_name, std::move(content)}, {"logprobs", nullptr}, {"finish_reason", nullptr}};
  if (const auto& answer = choices_[choice].answer) {
    if (has_logprobs_) json["logprobs"] = logprobs_of(*tokenizer_, answer->generation, lists_others_);
    json["finish_reason"] = finish_reason(answer->generation.stop_reason, !choices_[choice].calls.empty());
    if (choices_.size() > 1 || answer->receipt) json["loom"] = Json{{"hash", to_hex(answer->generation.hash)}};
    if (answer->receipt) json["loom"]["receipt"] = *answer->receipt;
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
  for (std::size_t choice = 0; is_chat_ && choice < choices_.size(); ++choice)
    chunk(choice, {{"role", "assistant"}, {"content", ""}});
}

bool ChatReply::on_text(std::size_t choice, std::string_view text) {
  if (!streams_ || has_failed_) return is_wanted();
  const std::scoped_lock lock(mutex_);
  begin();
  return read(choice, text, false);
}

// Passes a piece of an answer, or the whole one, on to thoughts, text and calls. `is_last`: nothing comes after it.
bool ChatReply::read(std::size_t choice, std::string_view text, bool is_last) {
  Choice& to = choices_[choice];
  std::string rest(text);
  bool is_open = is_wanted();
  if (to.thinking) {
    ThoughtReader::Found found = to.thinking->push(text);
    if (is_last) {
      const ThoughtReader::Found end = to.thinking->finish();
      found.thoughts += end.thoughts, found.text += end.text;
    }
    is_open = take_thoughts(choice, found.thoughts);
    rest = std::move(found.text);
  }
  if (!to.reader) return rest.empty() ? is_open : take(choice, {std::move(rest), {}});
  is_open = take(choice, to.reader->push(rest));
  return is_last ? take(choice, to.reader->finish()) : is_open;
}

bool ChatReply::take_thoughts(std::size_t choice, const std::string& thoughts) {
  choices_[choice].thoughts += thoughts;
  if (streams_ && !thoughts.empty()) chunk(choice, Json{{"reasoning_content", thoughts}});
  return is_wanted();
}

// Keeps, and in a stream sends, what was found in an answer. A call is sent whole, its arguments as a piece of its own.
bool ChatReply::take(std::size_t choice, const CallReader::Found& found) {
  Choice& to = choices_[choice];
  to.text += found.text;
  bool is_open = true;
  if (streams_ && !found.text.empty()) is_open = chunk(choice, piece(found.text));
  for (const ToolCall& call : found.calls) {
    const std::size_t index = to.calls.size();
    const std::string id = call_id(id_seed_ + std::to_string(choice), index, call.name, call.arguments);
    to.calls.push_back(
        {{"id", id}, {"type", "function"}, {"function", {{"name", call.name}, {"arguments", call.arguments}}}});
    if (!streams_) continue;
    Json begin = to.calls.back();
    begin["index"] = index, begin["function"]["arguments"] = "";
    chunk(choice, Json{{"tool_calls", Json::array({begin})}});
    const Json rest{{"index", index}, {"function", {{"arguments", call.arguments}}}};
    is_open = chunk(choice, Json{{"tool_calls", Json::array({rest})}});
  }
  return is_open && is_wanted();
}

// The text of a stream's event; none at its end.
Json ChatReply::piece(std::string_view text) const {
  if (!is_chat_) return std::string(text);
  return text.empty() ? Json::object() : Json{{"content", std::string(text)}};
}

// The message of a whole answer.
Json ChatReply::message_of(std::size_t index) const {
  const Choice& choice = choices_[index];
  Json message{{"role", "assistant"}, {"content", choice.text}};
  if (!choice.thoughts.empty()) message["reasoning_content"] = choice.thoughts;
  if (choice.calls.empty()) return message;
  if (choice.text.empty()) message["content"] = nullptr;
  message["tool_calls"] = choice.calls;
  return message;
}

void ChatReply::fail_with(const Error& error) {
  if (has_failed_.exchange(true)) return;
  const HttpResponse response = api_error(error);
  if (!has_begun_) return to_->send({response.status, response.content_type}, response.body);
  to_->write("data: " + response.body + "\n");
  to_->finish();
}

void ChatReply::on_end(std::size_t choice, Result<Answer> answer) {
  const std::scoped_lock lock(mutex_);
  if (!answer) return fail_with(answer.error());
  if (has_failed_) return;
  Choice& ended = choices_[choice];
  const bool is_last = --missing_ == 0;
  if (streams_) begin();
  read(choice, streams_ ? std::string_view() : std::string_view(answer->generation.text), true);
  ended.answer = *std::move(answer);
  const Json own{{"hash", is_last ? to_hex(choices_[0].answer->generation.hash) : ""}};
  if (streams_) {
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
  for (std::size_t i = 0; i < choices_.size(); ++i)
    json["choices"].push_back(is_chat_ ? choice_object(i, "message", message_of(i))
                                       : choice_object(i, "text", choices_[i].text));
  json["usage"] = usage(), json["loom"] = own;
  to_->send({200, "application/json"}, dump_json(json) + "\n");
}

}  // namespace loom::server
