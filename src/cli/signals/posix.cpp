#include "cli/signals.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <new>

#include "cli/common.h"
#include "core/file.h"

namespace loom::cli {
namespace {

std::atomic<bool> g_watched{false};      // a command looks at interrupted()
std::atomic<bool> g_interrupted{false};  // by Ctrl-C, which a chat survives
std::atomic<int> g_ending{0};            // SIGTERM or SIGHUP, which nothing does
std::atomic<bool> g_stop{false};         // either of them, as one flag for long work
// A pipe that holds a byte while g_stop is set: waits for input also wait for it. A handler may run in any thread, so
// no read() is sure to come back with EINTR.
int g_wake[2] = {-1, -1};

[[noreturn]] void end_by(int signal) {
  remove_temporary_files();
  _exit(128 + signal);
}

void on_stop(int signal) {
  if (!g_watched) end_by(signal);
  // A terminal that closes sends SIGHUP more than once, and some managers SIGTERM and SIGHUP: only a person's second
  // Ctrl-C is impatience.
  if (signal == SIGINT) {
    if (g_interrupted.exchange(true)) end_by(signal);
  } else {
    int none = 0;
    g_ending.compare_exchange_strong(none, signal);
  }
  g_stop = true;
  const int error = errno;
  [[maybe_unused]] const ssize_t written = ::write(g_wake[1], "", 1);
  errno = error;
}

// Bytes that a terminal might obey become '?', and so do all that are not ASCII.
void print_line(const char* a, const char* b) {
  char line[1024] = "loom: ";
  std::size_t n = std::strlen(line);
  for (const char* text : {a, b})
    for (; *text != '\0' && n + 1 < sizeof line; ++text) line[n++] = *text >= ' ' && *text <= '~' ? *text : '?';
  line[n++] = '\n';
  if (isatty(STDERR_FILENO) != 0 && ::write(STDERR_FILENO, "\r\033[K", 4) < 0) return;  // a bar may be shown
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line, n);
}

// Reports a page of a mapped file that no longer exists.
void on_bus_error(int, siginfo_t* info, void*) {
  const char* const path = mapped_file_at(info->si_addr);
  remove_temporary_files();
  if (path != nullptr) {
    static std::atomic_flag said;  // several threads may read the file; one line is enough
    while (said.test_and_set()) ::pause();
    print_line(path, ": became shorter while it was read");
    _exit(kBadFile);
  }
  std::signal(SIGBUS, SIG_DFL);
  std::raise(SIGBUS);
}

void install(int signal, void (*handler)(int)) {
  struct sigaction action{};
  if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) return;
  action = {};
  action.sa_handler = handler;
  sigaction(signal, &action, nullptr);
}

// Like pipe2(), which macOS does not have: nothing else runs yet that could start a program between the calls.
bool make_pipe(int (&ends)[2]) {
  if (::pipe(ends) != 0) return false;
  for (const int end : ends)
    if (::fcntl(end, F_SETFD, FD_CLOEXEC) != 0 || ::fcntl(end, F_SETFL, O_NONBLOCK) != 0) return false;
  return true;
}

}  // namespace

void handle_signals() {
  if (!make_pipe(g_wake)) g_wake[0] = g_wake[1] = -1;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) install(signal, on_stop);
  install(SIGPIPE, end_by);
  install(SIGABRT, [](int) { remove_temporary_files(); });  // abort() goes on
  std::signal(SIGXFSZ, SIG_IGN);                            // report EFBIG as an error instead of dying from SIGXFSZ
  struct sigaction bus{};
  bus.sa_sigaction = on_bus_error;
  bus.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &bus, nullptr);
  // Instead of an exception through code that is built without them, in whatever thread.
  std::set_new_handler([] { give_up("out of memory", kOutOfMemory); });
}

int status_after_signals(int status) {
  const int ending = g_ending;
  return ending != 0 && (status == kOk || status == kInterrupted) ? 128 + ending : status;
}

const char* end_in_order() {
  const int ending = g_ending.exchange(0);
  return ending == 0 ? "Ctrl-C" : ending == SIGHUP ? "SIGHUP" : "SIGTERM";
}

void give_up(const char* why, int status) {
  static std::atomic_flag said;  // memory ends for several threads at once; one line is enough
  while (said.test_and_set()) ::pause();
  remove_temporary_files();
  print_line(why, "");
  _exit(status);
}

void watch_interrupts() { g_watched = true; }

bool interrupted() { return g_stop; }
const std::atomic<bool>& interrupt_flag() { return g_stop; }
int interrupt_descriptor() { return g_wake[0]; }

void clear_interrupt() {
  g_interrupted = false;
  g_stop = g_ending != 0;
  for (char byte; g_ending == 0 && ::read(g_wake[0], &byte, 1) == 1;) {}
}

}  // namespace loom::cli
