#pragma once
// A small HTTP/1.1 server with bounds on everything that a client decides: sizes of headers and bodies, times, numbers
// of connections, bytes that wait. One thread reads and writes all connections, so that a slow client holds none;
// handlers run on a few others. On Boost.Beast, headers alone; without it listen() is Unsupported.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "http/http_message.h"

namespace loom {

struct HttpServerOptions {
  std::string address = "127.0.0.1";   // one that other computers reach needs a token; IPv6 with or without brackets
  std::uint16_t port = 0;              // 0: any that is free
  std::string token{};                 // empty: none is asked for
  std::vector<std::string> origins{};  // of other sites whose pages may ask (CORS); "*": all, which needs a token
  HttpErrorFormat format_error = [](std::string_view, int status, std::string_view message) {
    return http_error(status, message);
  };
  std::size_t max_body = std::size_t{64} << 20, max_header = std::size_t{16} << 10;
  std::size_t max_waiting = std::size_t{256} << 20;  // bytes of bodies, of all connections together
  // A further one takes the place of the one that sends nothing for longest; while all are answered, it waits.
  std::size_t max_connections = 64;
  std::size_t workers = 2;                          // threads of handlers
  std::chrono::milliseconds header_timeout{15000};  // for a whole header, and for the next request to begin
  std::chrono::milliseconds body_timeout{60000};    // for a whole body, and for a response or a part of it to be taken
  std::chrono::milliseconds stop_timeout{10000};    // for responses that are under way when the server stops
};

class HttpServer {
 public:
  virtual ~HttpServer() = default;

  // InvalidArgument for a bad address and for one beyond loopback without a token; IoError where the port is taken;
  // Unsupported in a build without Boost.
  static Result<std::unique_ptr<HttpServer>> listen(const HttpServerOptions& options, HttpHandler handler);

  virtual std::uint16_t port() const = 0;
  // Serves until `stop` is set, from a signal handler too, then takes no more requests and ends those under way.
  virtual Result<void> run(const std::atomic<bool>& stop) = 0;
};

// Returns the answers to a connection that sends these bytes, without a network: for tests and fuzzers. Empty without
// Boost.
std::string http_answers(std::string_view bytes, const HttpServerOptions& options, const HttpHandler& handler);

}  // namespace loom
