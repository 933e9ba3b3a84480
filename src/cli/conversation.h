#pragma once
// Conversations as files, in the form that chat templates and OpenAI's interface share: a list of messages with role and content.

#include <string>

#include "core/error.h"
#include "core/json.h"

namespace loom::cli {

// A list of messages, an object with a list "messages", or what /save wrote. Comes back as templates take it:
//   role       system, developer, user, assistant or tool
//   content    a text; parts of type "text" are joined; null beside tool calls becomes ""
//   tool_calls function calls whose arguments are objects (a text that holds one is parsed)
// Other members stay as they are. CorruptData with the place of what is not so.
Result<Json> read_conversation(const std::string& path);

// What /save writes: {"loom_chat": 1, "messages": [...]}. A content that is no UTF-8 is kept as base64 beside its readable form, so that
// reading it back gives the same bytes. InvalidArgument when a file stands there that holds no conversation.
Result<void> write_conversation(const std::string& path, const Json& messages);

Json message(const std::string& role, std::string content);

}  // namespace loom::cli
