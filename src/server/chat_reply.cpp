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

Json usage_of(const Answer& answer) {
  const std::size_t prompt = answer.generation.prompt_ids.size(), written = answer.generation.ids.size();
  return Json{{"prompt_tokens", prompt},
              {"completion_tokens", written},
              {"total_tokens", prompt + written},
              {"prompt_tokens_details", {{"cached_tokens", answer.cached_tokens}}}};
}

}  // namespace

ChatReply::ChatReply(std::shared_ptr<HttpReply> to, std::shared_ptr<const text::Tokenizer> tokenizer, ChatNames names,
                     const ChatRequest& request)
    : to_(std::move(to)),
      tokenizer_(std::move(tokenizer)),
      names_(std::move(names)),
      streams_(request.stream),
      includes_usage_(request.include_usage),
      has_logprobs_(request.generation.logprobs != 0),
      lists_others_(request.lists_others) {}

Json ChatReply::object(const char* kind) const {
  return Json{{"id", names_.id},
              {"object", kind},
              {"created", names_.created},
              {"model", names_.model},
              {"system_fingerprint", fmt::format("loom-numerics-{}", kNumericsVersion)}};
}

bool ChatReply::event(const Json& data) { return to_->write("data: " + dump_json(data) + "\n\n"); }

bool ChatReply::chunk(Json delta, Json finish_reason, Json logprobs) {
  Json json = object("chat.completion.chunk");
  json["choices"] = Json::array({Json{{"index", 0},
                                      {"delta", std::move(delta)},
                                      {"logprobs", std::move(logprobs)},
                                      {"finish_reason", std::move(finish_reason)}}});
  return event(json);
}

// The status says that all went well, so an error that comes before the first token can still have its own.
void ChatReply::begin() {
  if (std::exchange(has_begun_, true)) return;
  to_->begin({200, "text/event-stream; charset=utf-8"});
  chunk({{"role", "assistant"}, {"content", ""}}, nullptr, nullptr);
}

bool ChatReply::on_text(std::string_view text) {
  if (!streams_) return is_wanted();
  begin();
  return chunk({{"content", std::string(text)}}, nullptr, nullptr);
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

void ChatReply::on_end(const Result<Answer>& answer) {
  if (!answer) {
    const HttpResponse error = api_error(answer.error());
    if (!has_begun_) return to_->send({error.status, error.content_type}, error.body);
    to_->write("data: " + error.body + "\n");
    return to_->finish();
  }
  const Generation& g = answer->generation;
  const Json reason = finish_reason(g.stop_reason), own{{"hash", to_hex(g.hash)}};
  if (!streams_) {
    Json json = object("chat.completion");
    json["choices"] = Json::array({Json{{"index", 0},
                                        {"message", {{"role", "assistant"}, {"content", g.text}}},
                                        {"logprobs", logprobs_of(g)},
                                        {"finish_reason", reason}}});
    json["usage"] = usage_of(*answer), json["loom"] = own;
    return to_->send({200, "application/json"}, dump_json(json) + "\n");
  }
  begin();
  chunk(Json::object(), reason, logprobs_of(g));
  if (includes_usage_) {
    Json json = object("chat.completion.chunk");
    json["choices"] = Json::array(), json["usage"] = usage_of(*answer), json["loom"] = own;
    event(json);
  }
  to_->write("data: [DONE]\n\n");
  to_->finish();
}

}  // namespace loom::server
