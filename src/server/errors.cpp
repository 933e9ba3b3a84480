#include "server/errors.h"

#include "core/json.h"
#include "server/openai_error.h"

namespace loom::server {
namespace {

constexpr std::string_view kRequest = "invalid_request_error", kServer = "server_error",
                           kContextLength = "context_length_exceeded";

struct ErrorKind {
  int status;
  std::string_view type, code;  // code: empty for none
};

ErrorKind kind_of(Code code) {
  switch (code) {
    case Code::ContextFull: return {400, kRequest, kContextLength};
    case Code::UnknownKey: return {400, kRequest, "unknown_parameter"};
    case Code::Unsupported: return {400, kRequest, "unsupported_value"};
    case Code::NotFound: return {404, kRequest, "model_not_found"};
    case Code::Busy: return {429, "rate_limit_error", "rate_limit_exceeded"};
    case Code::Cancelled: return {503, kServer, "shutting_down"};
    case Code::OutOfMemory: return {503, kServer, "out_of_memory"};
    case Code::NonFinite:
    case Code::DeviceLost:
    case Code::InvalidState: return {500, kServer, {}};
    default: return {400, kRequest, "invalid_value"};
  }
}

HttpResponse response_of(const ErrorKind& kind, std::string_view message, ErrorStyle style) {
  // litellm, langchain and others know this error by the words of OpenAI's message alone.
  if (style == ErrorStyle::OpenAi && kind.code == kContextLength)
    return openai_error(kind.status, kind.type, kind.code,
                        fmt::format("{} (this model's maximum context length is exceeded)", message));
  if (style == ErrorStyle::OpenAi) return openai_error(kind.status, kind.type, kind.code, message);
  return {kind.status, "application/json", dump_json(Json{{"error", message}}) + "\n"};
}

}  // namespace

HttpResponse error_response(const Error& error, ErrorStyle style) {
  return response_of(kind_of(error.code), error.text(), style);
}

HttpResponse error_response(int status, std::string_view code, std::string_view message, ErrorStyle style) {
  return response_of({status, status < 500 ? kRequest : kServer, code}, message, style);
}

}  // namespace loom::server
