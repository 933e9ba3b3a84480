// WASI has no sockets, and on Windows nothing is sent yet.

#include "telemetry/socket.h"

namespace loom {

Result<std::unique_ptr<UdpSocket>> UdpSocket::create(const std::string&, std::uint16_t) {
  return fail(Code::Unsupported, "sockets are unavailable on this system");
}
UdpSocket::~UdpSocket() = default;
bool UdpSocket::send(const std::string&) { return false; }
bool http_post(const HttpUrl&, const std::string&, int) { return false; }

}  // namespace loom
