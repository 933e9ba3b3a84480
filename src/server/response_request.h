#pragma once
// The body of POST /v1/responses (OpenAI's API reference, "Create a model response"): text and calls of functions.

#include <string>
#include <string_view>
#include <vector>

#include "server/chat_request.h"

namespace loom::server {

struct ResponseRequest {
  ChatRequest chat;
  Json echo;                          // the members of the request that the response repeats
  std::vector<std::string> places{};  // in the request, of each message of `chat`
};
// Errors as of read_chat_request(). Responses are not stored, so previous_response_id is Unsupported.
Result<ResponseRequest> read_response_request(std::string_view body);

// An error about "/messages/2" at the place of the item that became this message.
Error placed_in_input(Error error, const std::vector<std::string>& places);

}  // namespace loom::server
