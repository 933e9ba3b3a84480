#pragma once
// Requests over HTTP and HTTPS, by libcurl: certificates are checked against the system's store, proxies are those of
// http_proxy and https_proxy, and no redirect is followed (hub_client.h does, since it knows who may see a token).

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"

namespace loom::pull {

using Headers = std::vector<std::pair<std::string, std::string>>;

struct WebAnswer {
  int status = 0;
  Headers headers;       // names in lower case
  std::string redirect;  // address that a redirect leads to, absolute; empty for none
  std::string body;      // of a request without a sink

  // The value of a header; empty where it is absent.
  std::string header(std::string_view name) const;
};

// Reads lines of an answer's head, of which the last one counts: proxies and continuations come before it.
void read_header_line(std::string_view line, WebAnswer& answer);

// Takes the body of a successful answer. Both may refuse, which ends the request with their error.
struct WebSink {
  std::function<Result<void>(const WebAnswer&)> begin;  // once, before the body
  std::function<Result<void>(std::span<const std::byte>)> data;
};

struct WebRequest {
  std::string url;
  bool head = false;
  std::vector<std::string> headers;  // "Name: value"
  const WebSink* sink = nullptr;     // null: the body goes into the answer
};

// How a request failed that got no whole answer.
struct WebFailure {
  Error error;
  bool is_connection = false;         // no answer began: no network, no such host
  bool may_pass = false;              // another attempt may succeed
  std::optional<int> wait_seconds{};  // before it, where the answer says so
  int status = 0;                     // of the answer that stands for the failure
};

class Web {
 public:
  // Unsupported: libcurl is not installed, or cannot be loaded. `cancel` ends requests; it outlives this.
  static Result<Web> open(const std::atomic<bool>& cancel);
  Web(Web&& other) noexcept;
  Web& operator=(Web&&) = delete;
  ~Web();

  tl::expected<WebAnswer, WebFailure> send(const WebRequest& request);

 private:
  struct Library;
  Web() = default;
  std::unique_ptr<Library> library_;
  const std::atomic<bool>* cancel_ = nullptr;
};

}  // namespace loom::pull
