#pragma once
// Conversations as JSON and as files, in the form that chat templates and OpenAI's interface share: a list of messages
// with role and content.

#include <string>
#include <string_view>

#include "core/error.h"
#include "core/json.h"

namespace loom {

// A list of messages, an object with a list "messages", or what write_conversation() wrote. Comes back as templates
// take it:
//   role       system, developer, user, assistant or tool
//   content    a text; parts of type "text" are joined; absent where it is null, and messages of assistants may lack it
//   tool_calls function calls whose arguments are objects (a text that holds one is parsed)
// Other members stay as they are, and those that are null go. CorruptData with the place of what is not so.
Result<Json> conversation_from_json(const Json& json);
// Reads a conversation from a file; errors name it. Content that write_conversation() kept as base64 is those bytes
// again.
Result<Json> read_conversation(const std::string& path);

// {"loom_chat": 1, "messages": [...]}. Content that is not UTF-8 is kept as base64 beside its readable form, so that
// reading it back gives the same bytes.
Json conversation_to_json(const Json& messages);
// Writes them as a file, with more members of its object in `beside`. InvalidArgument when the path holds a file that
// is not a conversation.
Result<void> write_conversation(const std::string& path, const Json& messages, const Json& beside = Json::object());

// Content of a message that conversation_from_json() gave; empty where there is none.
std::string_view content_text(const Json& message);
Json message(const std::string& role, std::string content);

}  // namespace loom
