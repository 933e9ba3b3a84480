#pragma once
// Errors as clients of each interface expect them.

#include <string>

#include "http/http_message.h"

namespace loom::server {

// OpenAI: {"error": {"message", "type", "param", "code"}}; Ollama: {"error": "message"}.
enum class ErrorStyle : std::uint8_t { OpenAi, Ollama };

HttpResponse error_response(const Error& error, ErrorStyle style);
inline HttpResponse api_error(const Error& error) { return error_response(error, ErrorStyle::OpenAi); }
// With a status and OpenAI's code for an error that no Code has.
HttpResponse error_response(int status, std::string_view code, std::string_view message, ErrorStyle style);

}  // namespace loom::server
