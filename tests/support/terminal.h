#pragma once
// Runs a program on a pseudo terminal, as a person would: keys go in, what the screen would get comes out.

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "files.h"

namespace loom::test {

class Terminal {
 public:
  Terminal(std::vector<std::string> arguments, std::vector<std::pair<std::string, std::string>> environment,
           unsigned short columns = 80, unsigned short rows = 24) {
    winsize size{.ws_row = rows, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
    pid_ = forkpty(&fd_, nullptr, nullptr, &size);
    EXPECT_GE(pid_, 0);
    if (pid_ != 0) return;
    termios mode{};  // terminals say that their text is UTF-8: what is typed ahead is then erased by characters
    if (tcgetattr(STDIN_FILENO, &mode) == 0) {
      mode.c_iflag |= IUTF8;
      tcsetattr(STDIN_FILENO, TCSANOW, &mode);
    }
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    std::vector<char*> argv;
    for (std::string& a : arguments) argv.push_back(a.data());
    argv.push_back(nullptr);
    execvp(argv[0], argv.data());
    _exit(127);
  }
  ~Terminal() {
    if (pid_ > 0) kill(pid_, SIGKILL), waitpid(pid_, nullptr, 0);
    if (fd_ >= 0) close(fd_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  void type(const std::string& keys) {
    EXPECT_EQ(write(fd_, keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
  }
  void resize(unsigned short columns) {
    winsize size{.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
    EXPECT_EQ(ioctl(fd_, TIOCSWINSZ, &size), 0);
  }
  // Until the text has come since the last call that found its own; false when the program ended or ten minutes went
  // by.
  bool wait_for(const std::string& text) {
    for (;;) {
      if (const std::size_t at = out_.find(text, seen_); at != out_.npos) {
        seen_ = at + text.size();
        return true;
      }
      if (!pump()) return false;
    }
  }
  const std::string& output() const { return out_; }
  // The exit code, or 128 + signal; waits for the end.
  int finish() {
    while (pump()) {}
    int status = 0;
    if (std::chrono::steady_clock::now() >= deadline_) {
      ADD_FAILURE() << "the program did not end: " << out_;
      kill(pid_, SIGKILL);
    }
    waitpid(std::exchange(pid_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  bool pump() {
    if (std::chrono::steady_clock::now() >= deadline_) return false;
    pollfd fds{fd_, POLLIN, 0};
    if (poll(&fds, 1, 1000) <= 0) return true;
    char buffer[4096];
    const ssize_t n = read(fd_, buffer, sizeof buffer);  // EIO: the other side is gone
    if (n <= 0) return false;
    out_.append(buffer, static_cast<std::size_t>(n));
    return true;
  }

  std::chrono::steady_clock::time_point deadline_ = std::chrono::steady_clock::now() + std::chrono::minutes(10);
  pid_t pid_ = -1;
  int fd_ = -1;
  std::string out_;
  std::size_t seen_ = 0;
};

}  // namespace loom::test
