#pragma once
// Requests and responses as handlers see them, whatever carries them.

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"

namespace loom {

struct HttpRequest {
  std::string method, path, query;  // the path decoded, the query as it came
  std::string body;
};
struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json", body{};
};
// Called from several threads at a time.
using HttpHandler = std::function<HttpResponse(const HttpRequest&)>;

// The target of a request line as path and query. InvalidArgument for what is no absolute path, for bad escapes and for
// control characters, which have no place in one.
Result<void> split_target(std::string_view target, HttpRequest& request);
// "%2F" and "+" decoded; nothing for bad escapes and control characters.
std::optional<std::string> decode_url(std::string_view text, bool plus_is_blank);
// The value of a name in a query; nothing where it is absent or badly escaped.
std::optional<std::string> query_value(std::string_view query, std::string_view name);

// {"status": "error", "message": ..}
HttpResponse http_error(int status, std::string_view message);

}  // namespace loom
