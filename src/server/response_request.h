#pragma once
// The body of POST /v1/responses (OpenAI's API reference, "Create a model response"): text and calls of functions.

#include <string_view>

#include "server/chat_request.h"

namespace loom::server {

struct ResponseRequest {
  ChatRequest chat;
  Json echo;  // the members of the request that the response repeats
};
// Errors as of read_chat_request(). Responses are not stored, so previous_response_id is Unsupported.
Result<ResponseRequest> read_response_request(std::string_view body);

}  // namespace loom::server
