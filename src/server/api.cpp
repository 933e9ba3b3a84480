#include "server/api.h"

#include <chrono>
#include <utility>

#include "core/json.h"
#include "host/prompt.h"
#include "server/chat_reply.h"
#include "server/openai_error.h"

namespace loom::server {
namespace {

constexpr std::string_view kModels = "/v1/models", kChat = "/v1/chat/completions", kTexts = "/v1/completions";

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
  if (request.path == "/metrics") return is_get ? metrics() : wrong_method("GET");
  if (request.path == "/health") return is_get ? health() : wrong_method("GET");
  if (request.path.starts_with(kModels)) return is_get ? models(request) : wrong_method("GET");
  if (request.path == kChat || request.path == kTexts) {
    if (request.method != "POST") return wrong_method("POST");
    auto read = request.path == kChat ? read_chat_request(request.body) : read_completion_request(request.body);
    if (!read) return api_error(read.error());
    auto response = answer(std::move(*read));
    return response ? std::move(*response) : api_error(response.error());
  }
  return openai_error(404, "invalid_request_error", "not_found",
                      fmt::format("{}: there is no such path; {}, {}, {}, /health and /metrics are served",
                                  request.path, kModels, kChat, kTexts));
}

HttpResponse Api::health() const {
  return {200, "application/json", dump_json({{"status", "ok"}, {"requests", engine_->under_way()}}) + "\n"};
}

// The text format of Prometheus, version 0.0.4.
HttpResponse Api::metrics() const {
  const EngineCounts counts = engine_->counts();
  std::string text;
  const auto describe = [&text](std::string_view name, std::string_view type, std::string_view help) {
    text += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
  };
  describe("loom_requests_total", "counter", "Requests by their end.");
  const std::pair<std::string_view, std::uint64_t> ends[] = {{"answered", counts.answered},
                                                             {"cancelled", counts.cancelled},
                                                             {"failed", counts.failed},
                                                             {"refused", counts.refused}};
  for (const auto& [end, count] : ends) text += fmt::format("loom_requests_total{{end=\"{}\"}} {}\n", end, count);
  const auto add = [&](std::string_view name, std::string_view type, std::uint64_t value, std::string_view help) {
    describe(name, type, help);
    text += fmt::format("{} {}\n", name, value);
  };
  add("loom_prompt_tokens_total", "counter", counts.prompt_tokens, "Tokens of prompts of ended requests.");
  add("loom_cached_tokens_total", "counter", counts.cached_tokens, "Tokens of prompts that were not read again.");
  add("loom_generated_tokens_total", "counter", counts.written_tokens, "Generated tokens of ended requests.");
  add("loom_passes_total", "counter", counts.passes, "Forward passes on the CPU.");
  add("loom_rows_total", "counter", counts.rows, "Tokens in these passes.");
  add("loom_requests_running", "gauge", counts.running, "Requests that are answered now.");
  add("loom_requests_waiting", "gauge", counts.waiting, "Requests that wait now.");
  add("loom_cache_blocks", "gauge", counts.blocks, "Blocks of keys and values in memory, shared ones once.");
  add("loom_cache_blocks_running", "gauge", counts.blocks_running, "Blocks of the requests that are answered now.");
  add("loom_cache_blocks_limit", "gauge", counts.most_blocks, "Blocks that may be in memory.");
  add("loom_cache_stored_total", "counter", counts.stored, "Sequences that left memory for a file.");
  add("loom_cache_restored_total", "counter", counts.restored, "Sequences that came back from a file.");
  add("loom_cache_storage_errors_total", "counter", counts.storage_errors, "Files that were not written or read.");
  add("loom_cache_stored_bytes", "gauge", counts.stored_bytes, "Bytes of these files.");
  return {200, "text/plain; version=0.0.4; charset=utf-8", std::move(text)};
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

Result<std::vector<std::int32_t>> Api::prompt_of(ChatRequest& request) const {
  if (!request.ids.empty()) return std::move(request.ids);
  PromptRequest wanted;
  wanted.context_tokens = engine_->context_tokens();
  if (request.messages.is_null()) {
    wanted.form = PromptForm::Raw, wanted.text = std::move(request.text);
  } else {
    // Messages come from strangers: what spells a control token in them is text.
    wanted.form = PromptForm::Chat, wanted.messages = request.messages, wanted.plain_text = true;
  }
  LOOM_TRY(Prompt prompt, make_prompt(engine_->model(), std::move(wanted)));
  return std::move(prompt.ids);
}

Result<HttpResponse> Api::answer(ChatRequest chat) {
  if (!chat.model.empty() && chat.model != name_)
    return fail(Code::NotFound, "/model: {} is served, got {}", name_, chat.model);
  LOOM_TRY(const std::vector<std::int32_t> prompt, prompt_of(chat));
  const auto later = std::make_shared<HttpReply>();
  const std::uint64_t number = ++answers_;
  const std::int64_t created = seconds_since_1970();
  const auto reply = std::make_shared<ChatReply>(
      later, engine_->model().tokenizer,
      ChatNames{fmt::format("{}-{}-{}", chat.messages.is_null() ? "cmpl" : "chatcmpl", created, number), name_,
                created},
      chat);
  std::vector<Request> requests(chat.choices);
  for (std::size_t choice = 0; choice < requests.size(); ++choice) {
    chat.generation.sampling_session = static_cast<std::uint32_t>(choice);
    requests[choice] = {.prompt = prompt,
                        .options = chat.generation,
                        .on_text = [reply, choice](std::string_view text) { return reply->on_text(choice, text); },
                        .is_wanted = [reply] { return reply->is_wanted(); },
                        .on_end = [reply, choice](Result<Answer> answer) { reply->on_end(choice, std::move(answer)); }};
  }
  LOOM_TRY_VOID(engine_->submit(std::move(requests)));
  HttpResponse response;
  response.later = later;
  return response;
}

}  // namespace loom::server
