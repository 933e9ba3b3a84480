// Any text as the body of a request: read, or an Error with OpenAI's object for it.

#include "core/json.h"
#include "server/api.h"
#include "server/chat_request.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace loom;
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  if (const auto text = server::read_completion_request(body)) {
    LOOM_ASSERT(text->messages.is_null() && (text->text.empty() || text->ids.empty()));
    LOOM_ASSERT(text->generation.max_tokens > 0 && text->generation.logprobs == 0);
  }
  const auto request = server::read_chat_request(body);
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
