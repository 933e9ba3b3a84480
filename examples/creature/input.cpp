#include "input.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace creature {
namespace {

volatile sig_atomic_t g_interrupted = 0;
void on_signal(int) { g_interrupted = 1; }

}  // namespace

void Lines::watch_signals() {
  struct sigaction action{};
  action.sa_handler = on_signal;  // without SA_RESTART, so that a wait ends
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
}

bool Lines::interrupted() { return g_interrupted != 0; }

bool Lines::fill(const std::function<void()>& idle) {
  while (!ended_ && !interrupted()) {
    pollfd wait{fd_, POLLIN, 0};
    const int ready = poll(&wait, 1, idle ? 350 : 1000);
    if (ready == 0 && idle) idle();
    if (ready <= 0) continue;
    std::array<char, 4096> bytes;
    const ssize_t count = read(fd_, bytes.data(), bytes.size());
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count <= 0)
      ended_ = true;
    else
      buffer_.assign(bytes.data(), static_cast<std::size_t>(count)), at_ = 0;
    return !ended_;
  }
  return false;
}

std::optional<std::string> Lines::next(const std::function<void()>& idle) {
  std::string line;
  for (bool any = false;; any = true) {
    if (at_ == buffer_.size() && !fill(idle)) return any && !interrupted() ? std::optional(line) : std::nullopt;
    const std::size_t end = std::min(buffer_.find('\n', at_), buffer_.size());
    if (line.size() < kMaxLine) line.append(buffer_, at_, std::min(end - at_, kMaxLine - line.size()));
    at_ = std::min(end + 1, buffer_.size());
    if (end < buffer_.size()) return line;
  }
}

}  // namespace creature
