// Any bytes as what a client sends: answers that begin like answers, or silence.

#include <cstdint>

#include "http/http_server.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace loom;
  HttpServerOptions options;
  options.max_body = 4096, options.max_header = 1024;
  std::size_t calls = 0;
  const HttpHandler handler = [&](const HttpRequest& request) {
    ++calls;
    LOOM_ASSERT(!request.path.empty() && request.path[0] == '/' && request.body.size() <= options.max_body);
    static_cast<void>(query_value(request.query, "tab"));
    return HttpResponse{200, "text/plain", request.path};
  };
  const std::string text = http_answers({reinterpret_cast<const char*>(data), size}, options, handler);
  LOOM_ASSERT(text.empty() || text.starts_with("HTTP/1.1 "));
  LOOM_ASSERT(calls == 0 || !text.empty());
  return 0;
}
