#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>
#ifdef __APPLE__
#include <mach-o/dyld.h>
#endif

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cwchar>
#include <string_view>

#include "cli/common.h"
#include "cli/console.h"

namespace loom::cli {

// /dev/null opened the wrong way round keeps the error visible: nothing can be read from 0 or written to 1 and 2.
void prepare_streams() {
  for (int fd = 0; fd <= 2; ++fd)
    if (::fcntl(fd, F_GETFD) < 0 && ::open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) < 0) ::_exit(kFailed);
}

std::vector<std::string> program_arguments(int argc, char** argv) {
  return argc > 1 ? std::vector<std::string>(argv + 1, argv + argc) : std::vector<std::string>();
}

std::string program_path() {
  std::array<char, 4096> path{};
#ifdef __APPLE__
  auto size = static_cast<std::uint32_t>(path.size());
  return ::_NSGetExecutablePath(path.data(), &size) == 0 ? std::string(path.data()) : std::string();
#else
  const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size());
  if (length <= 0 || static_cast<std::size_t>(length) == path.size()) return {};
  return {path.data(), static_cast<std::size_t>(length)};
#endif
}

bool is_terminal(int fd) { return ::isatty(fd) != 0; }

bool knows_escapes(int fd) {
  const char* const term = std::getenv("TERM");
  return is_terminal(fd) && term != nullptr && *term != '\0' && std::string_view(term) != "dumb";
}

std::optional<TerminalSize> reported_size(int fd) {
  winsize told{};
  if (::ioctl(fd, TIOCGWINSZ, &told) != 0 || told.ws_col == 0 || told.ws_row == 0) return std::nullopt;
  return TerminalSize{told.ws_col, told.ws_row};
}

int width_of_character(char32_t c) { return std::max(::wcwidth(static_cast<wchar_t>(c)), 0); }

int read_byte(char& byte) {
  for (;;) {
    pollfd ends[] = {{kInput, POLLIN, 0}, {interrupt_descriptor(), POLLIN, 0}};
    const int ready = ::poll(ends, 2, -1);
    if (interrupted() || ready < 0) return -1;
    if (ends[0].revents != 0) return static_cast<int>(::read(kInput, &byte, 1));
    clear_interrupt();  // a byte that outlived its signal
  }
}

double peak_rss_mb() {
  struct rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
#ifdef __APPLE__
  return static_cast<double>(usage.ru_maxrss) / (1024.0 * 1024.0);
#else
  return static_cast<double>(usage.ru_maxrss) / 1024.0;
#endif
}

}  // namespace loom::cli
