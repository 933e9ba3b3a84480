// Any text as the body of a chat's request: read, or an Error with OpenAI's object for it.

#include "core/json.h"
#include "server/api.h"
#include "server/chat_request.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace loom;
  const auto request = server::read_chat_request({reinterpret_cast<const char*>(data), size});
  if (!request) {
    const HttpResponse response = server::api_error(request.error());
    LOOM_ASSERT(response.status >= 400 && response.status < 600);
    LOOM_ASSERT(find(parse_json(response.body).value(), "error") != nullptr);
    return 0;
  }
  LOOM_ASSERT(request->messages.is_array() && request->generation.max_tokens > 0);
  LOOM_ASSERT(request->stream || !request->include_usage);
  return 0;
}
