#pragma once
// The bodies of POST /v1/chat/completions and /v1/completions (OpenAI's API reference, "Create chat completion" and
// "Create completion"), and what requests of all families for an answer have in common.

#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "lm/generator.h"
#include "server/request_fields.h"
#include "server/tools.h"

namespace loom::server {

// A text, or its tokens where there are any.
struct TextPrompt {
  std::string text;
  std::vector<std::int32_t> ids;
};

struct ChatRequest {
  std::string model;  // empty: the one that is served
  Json messages;      // as conversation_from_json() returns it; null: a text is continued
  std::string text;   // that is continued, unless there are ids
  std::vector<std::int32_t> ids;
  std::vector<TextPrompt> more_prompts{};  // that are continued after it
  GenerationOptions generation;
  Tools tools;                         // that the messages may use
  Json variables = Json::object();     // of the chat template
  bool are_variables_checked = false;  // those that the template never reads are refused
  bool wants_thoughts = false;         // refused where the model writes none
  // answers to each prompt, which draw from one seed as sessions 0, 1... (GenerationOptions::sampling_session)
  std::size_t choices = 1;
  std::string_view length_member = "/max_tokens";  // of the request that gives generation.max_tokens
  bool has_standard_length = false;                // generation.max_tokens is not the client's
  std::size_t most_context = 0;                    // tokens of prompt and answer; 0: as the session has them
  bool stream = false;
  bool include_usage = false;  // at the end of a stream
  bool wants_receipt = false;  // of each answer (host/receipt.h)
  bool lists_others = false;   // beside the drawn token, by generation.logprobs
};

// Members that are null are absent. CorruptData and InvalidConfig with the place of what is wrong; Unsupported for a
// value whose meaning the server lacks. Members that change no answer are not read.
Result<ChatRequest> read_chat_request(std::string_view body);
// Like read_chat_request(), for a text or token ids in "prompt".
Result<ChatRequest> read_completion_request(std::string_view body);
// Sets messages and tools. Unsupported for tools beside a form of the answer. Places in errors begin with "/messages".
Result<void> read_conversation_members(const Json& messages, Tools tools, ChatRequest& to);

// UnknownKey for a member of a part of a message's content that Loom neither reads nor servers add to answers.
Result<void> check_part(const Json& part, const std::string& place);

}  // namespace loom::server
