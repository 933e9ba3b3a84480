#pragma once
// Requests and responses as handlers see them, whatever carries them.

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/file.h"
#include "http/http_reply.h"

namespace loom {

struct HttpRequest {
  std::string method, path, query;  // the path decoded, the query as it came
  std::string body;
  std::string range{}, if_none_match{};  // the headers Range and If-None-Match as they came; empty: none
};
struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json", body{};
  std::vector<std::pair<std::string, std::string>> headers{};  // replace those that the server sets by itself
  // Body that is sent from a file's map, without a copy, in place of `body`; null: none.
  std::shared_ptr<const MappedFile> file{};
  std::span<const std::byte> part{};  // of `file`
  // Status and body that another thread writes later, in place of all above but the headers; null: none. The connection
  // ends after it.
  std::shared_ptr<HttpReply> later{};
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
// Makes the error of a request that no handler has answered, for the path as it came.
using HttpErrorFormat = HttpResponse (*)(std::string_view path, int status, std::string_view message);

}  // namespace loom
