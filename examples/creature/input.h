#pragma once
// Lines from a file, a pipe or a terminal; the wait for one can be filled, and ends on a signal.

#include <functional>
#include <optional>
#include <string>

namespace creature {

class Lines {
 public:
  // Ctrl-C and the wish of the system to end us: from now on next() returns nothing.
  static void watch_signals();
  static bool interrupted();

  explicit Lines(int fd) : fd_(fd) {}
  // Nothing at the end or after a signal. Calls `idle` about three times a second while there is nothing to read. A
  // line is cut after kMaxLine bytes, so a binary file that is piped in fills no memory.
  std::optional<std::string> next(const std::function<void()>& idle = {});
  static constexpr std::size_t kMaxLine = 4096;

 private:
  bool fill(const std::function<void()>& idle);
  int fd_;
  bool ended_ = false;
  std::string buffer_;
  std::size_t at_ = 0;
};

}  // namespace creature
