#pragma once
// Errors of OpenAI's HTTP interface.

#include <string_view>

#include "http/http_message.h"

namespace loom::server {

// {"error": {"message", "type", "param": null, "code"}}. An empty code is null.
HttpResponse openai_error(int status, std::string_view type, std::string_view code, std::string_view message);
// HttpServerOptions::format_error: OpenAI's error object below /v1/, Ollama's below /api/, http_error() for other
// paths.
HttpResponse path_error(std::string_view path, int status, std::string_view message);

}  // namespace loom::server
