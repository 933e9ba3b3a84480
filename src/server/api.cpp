#include "server/api.h"

#include <chrono>
#include <utility>

#include "core/json.h"
#include "host/prompt.h"
#include "server/chat_reply.h"

namespace loom::server {
namespace {

constexpr std::string_view kModels = "/v1/models", kChat = "/v1/chat/completions";

struct ErrorKind {
  int status;
  std::string_view type, code;  // code: empty for none
};

ErrorKind kind_of(Code code) {
  constexpr std::string_view kRequest = "invalid_request_error";
  switch (code) {
    case Code::ContextFull: return {400, kRequest, "context_length_exceeded"};
    case Code::UnknownKey: return {400, kRequest, "unknown_parameter"};
    case Code::Unsupported: return {400, kRequest, "unsupported_value"};
    case Code::NotFound: return {404, kRequest, "model_not_found"};
    case Code::Busy: return {429, "rate_limit_error", "rate_limit_exceeded"};
    case Code::Cancelled: return {503, "server_error", "shutting_down"};
    case Code::OutOfMemory: return {503, "server_error", "out_of_memory"};
    case Code::NonFinite:
    case Code::DeviceLost:
    case Code::InvalidState: return {500, "server_error", {}};
    default: return {400, kRequest, "invalid_value"};
  }
}

std::int64_t seconds_since_1970() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

HttpResponse wrong_method(std::string_view expected) {
  HttpResponse response =
      openai_error(405, "invalid_request_error", "method_not_allowed", fmt::format("this path takes {}", expected));
  response.headers.emplace_back("Allow", expected);
  return response;
}

}  // namespace

HttpResponse api_error(const Error& error) {
  const ErrorKind kind = kind_of(error.code);
  return openai_error(kind.status, kind.type, kind.code, error.text());
}

HttpResponse Api::handle(const HttpRequest& request) {
  const bool is_get = request.method == "GET" || request.method == "HEAD";
  if (request.path == "/health") return is_get ? health() : wrong_method("GET");
  if (request.path.starts_with(kModels)) return is_get ? models(request) : wrong_method("GET");
  if (request.path == kChat) {
    if (request.method != "POST") return wrong_method("POST");
    auto response = chat(request.body);
    return response ? std::move(*response) : api_error(response.error());
  }
  return openai_error(
      404, "invalid_request_error", "not_found",
      fmt::format("{}: there is no such path; {}, {} and /health are served", request.path, kModels, kChat));
}

HttpResponse Api::health() const {
  return {200, "application/json", dump_json({{"status", "ok"}, {"requests", engine_->under_way()}}) + "\n"};
}

HttpResponse Api::models(const HttpRequest& request) const {
  const Json model{{"id", name_},
                   {"object", "model"},
                   {"created", 0},
                   {"owned_by", "loom"},
                   {"context_length", engine_->context_tokens()}};
  if (request.path == kModels)
    return {200, "application/json", dump_json({{"object", "list"}, {"data", Json::array({model})}}) + "\n"};
  if (request.path == fmt::format("{}/{}", kModels, name_)) return {200, "application/json", dump_json(model) + "\n"};
  return openai_error(404, "invalid_request_error", "model_not_found",
                      fmt::format("there is no such model; {} is served", name_));
}

Result<HttpResponse> Api::chat(const std::string& body) {
  LOOM_TRY(ChatRequest chat, read_chat_request(body));
  if (!chat.model.empty() && chat.model != name_)
    return fail(Code::NotFound, "/model: {} is served, got {}", name_, chat.model);
  PromptRequest wanted;
  wanted.form = PromptForm::Chat;
  wanted.messages = std::move(chat.messages), wanted.context_tokens = engine_->context_tokens();
  // Messages come from strangers: what spells a control token in them is text.
  wanted.plain_text = true;
  LOOM_TRY(Prompt prompt, make_prompt(engine_->model(), std::move(wanted)));
  const auto later = std::make_shared<HttpReply>();
  const std::uint64_t number = ++answers_;
  const std::int64_t created = seconds_since_1970();
  const auto reply =
      std::make_shared<ChatReply>(later, engine_->model().tokenizer,
                                  ChatNames{fmt::format("chatcmpl-{}-{}", created, number), name_, created}, chat);
  LOOM_TRY_VOID(engine_->submit({.prompt = std::move(prompt.ids),
                                 .options = std::move(chat.generation),
                                 .on_text = [reply](std::string_view text) { return reply->on_text(text); },
                                 .is_wanted = [reply] { return reply->is_wanted(); },
                                 .on_end = [reply](const Result<Answer>& answer) { reply->on_end(answer); }}));
  HttpResponse response;
  response.later = later;
  return response;
}

}  // namespace loom::server
