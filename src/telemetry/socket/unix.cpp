// Sockets of Linux and macOS.

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "telemetry/socket.h"

namespace loom {

namespace {

#if defined(MSG_NOSIGNAL)
constexpr int kQuiet = MSG_NOSIGNAL;
#else
constexpr int kQuiet = 0;
#endif

// A socket towards the first address that takes one; connecting does not wait. -1: none.
int connected(const std::string& host, std::uint16_t port, int type) {
  addrinfo hints{}, *list = nullptr;
  hints.ai_family = AF_UNSPEC, hints.ai_socktype = type;
  if (getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list) != 0) return -1;
  int handle = -1;
  for (const addrinfo* a = list; a != nullptr && handle < 0; a = a->ai_next) {
    handle = socket(a->ai_family, a->ai_socktype, a->ai_protocol);
    if (handle < 0) continue;
    fcntl(handle, F_SETFL, fcntl(handle, F_GETFL) | O_NONBLOCK);
    fcntl(handle, F_SETFD, FD_CLOEXEC);
    if (connect(handle, a->ai_addr, a->ai_addrlen) != 0 && errno != EINPROGRESS) {
      close(handle);
      handle = -1;
    }
  }
  freeaddrinfo(list);
  return handle;
}

class Deadline {
 public:
  explicit Deadline(int limit_ms) : end_(std::chrono::steady_clock::now() + std::chrono::milliseconds(limit_ms)) {}
  // Waits until the socket is ready for `events`.
  bool wait(int handle, short events) const {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(end_ - std::chrono::steady_clock::now()).count();
    pollfd p{handle, events, 0};
    return left > 0 && poll(&p, 1, static_cast<int>(left)) == 1;
  }

 private:
  std::chrono::steady_clock::time_point end_;
};

bool exchange(int handle, const std::string& request, const Deadline& deadline) {
  for (std::size_t done = 0; done < request.size();) {
    if (!deadline.wait(handle, POLLOUT)) return false;
    const auto n = send(handle, request.data() + done, request.size() - done, kQuiet);
    if (n < 0 && errno != EAGAIN) return false;
    if (n > 0) done += static_cast<std::size_t>(n);
  }
  std::string answer;
  while (answer.size() < 12) {
    char bytes[64];
    if (!deadline.wait(handle, POLLIN)) return false;
    const auto n = recv(handle, bytes, sizeof bytes, 0);
    if (n == 0 || (n < 0 && errno != EAGAIN)) return false;
    if (n > 0) answer.append(bytes, static_cast<std::size_t>(n));
  }
  return answer.starts_with("HTTP/1.") && answer[8] == ' ' && answer[9] == '2';
}

}  // namespace

Result<std::unique_ptr<UdpSocket>> UdpSocket::create(const std::string& host, std::uint16_t port) {
  std::unique_ptr<UdpSocket> s(new UdpSocket);
  s->handle_ = connected(host, port, SOCK_DGRAM);
  if (s->handle_ < 0) return fail(Code::IoError, "udp {}:{}: no address that can be sent to", host.substr(0, 80), port);
  return s;
}
UdpSocket::~UdpSocket() {
  if (handle_ >= 0) close(handle_);
}
bool UdpSocket::send(const std::string& datagram) {
  return ::send(handle_, datagram.data(), datagram.size(), kQuiet) == static_cast<ssize_t>(datagram.size());
}

bool http_post(const HttpUrl& url, const std::string& body, int limit_ms) {
  const Deadline deadline(limit_ms);
  const int handle = connected(url.host, url.port, SOCK_STREAM);
  if (handle < 0) return false;
  const std::string request = fmt::format(
      "POST {} HTTP/1.1\r\nHost: {}:{}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: "
      "close\r\n\r\n{}",
      url.path, url.host, url.port, body.size(), body);
  const bool done = exchange(handle, request, deadline);
  close(handle);
  return done;
}

}  // namespace loom
