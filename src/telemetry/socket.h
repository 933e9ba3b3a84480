#pragma once
// The two ways out: datagrams, and one HTTP POST within a time limit. Where there are no sockets, create() is
// Unsupported.

#include <cstdint>
#include <memory>
#include <string>

#include "core/error.h"

namespace loom {

class UdpSocket {
 public:
  // Looks the host up once; IoError when it has no address.
  static Result<std::unique_ptr<UdpSocket>> create(const std::string& host, std::uint16_t port);
  ~UdpSocket();
  // Sends without waiting, or not at all.
  bool send(const std::string& datagram);

 private:
  UdpSocket() = default;
  int handle_ = -1;
};

struct HttpUrl {
  std::string host, path = "/";
  std::uint16_t port = 80;
};
// Parses "http://host[:port][/path]". InvalidArgument; Unsupported for https.
Result<HttpUrl> parse_http_url(std::string_view url);
// True when the answer begins with a 2xx status line within the limit, the time for connecting included.
bool http_post(const HttpUrl& url, const std::string& body, int limit_ms);

}  // namespace loom
