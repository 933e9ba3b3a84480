#include <windows.h>

#include <io.h>
#include <process.h>

#include <csignal>
#include <cstring>
#include <new>

#include "cli/common.h"
#include "cli/console.h"
#include "cli/signals.h"
#include "core/file.h"

namespace loom::cli {
namespace {

std::atomic<bool> g_watched{false};      // a command looks at interrupted()
std::atomic<bool> g_interrupted{false};  // by Ctrl-C, which a chat survives
std::atomic<bool> g_ending{false};       // by a console that closes
std::atomic<bool> g_stop{false};         // either of them, as one flag for long work

constexpr int kInterruptStatus = 128 + SIGINT, kEndStatus = 128 + SIGTERM;

[[noreturn]] void end_with(int status) {
  remove_temporary_files();
  _exit(status);
}

void print_line(const char* a, const char* b) {
  char line[1024] = "loom: ";
  std::size_t n = std::strlen(line);
  for (const char* text : {a, b})
    for (; *text != '\0' && n + 1 < sizeof line; ++text) line[n++] = *text >= ' ' && *text <= '~' ? *text : '?';
  line[n++] = '\n';
  [[maybe_unused]] const int written = _write(kErrors, line, static_cast<unsigned>(n));
}

// Called by a thread of its own. The system ends the process once the handler of a closed console has returned.
BOOL WINAPI on_console_event(DWORD event) {
  const bool is_key = event == CTRL_C_EVENT || event == CTRL_BREAK_EVENT;
  if (!g_watched) end_with(is_key ? kInterruptStatus : kEndStatus);
  if (is_key && g_interrupted.exchange(true)) end_with(kInterruptStatus);
  if (!is_key) g_ending = true;
  g_stop = true;
  if (!is_key) Sleep(4000);  // a command that is watched ends in order meanwhile; Windows waits for 5 seconds
  return TRUE;
}

// Reports a page of a mapped file that can no longer be read.
LONG WINAPI on_page_error(EXCEPTION_POINTERS* what) {
  const EXCEPTION_RECORD& record = *what->ExceptionRecord;
  if (record.ExceptionCode != EXCEPTION_IN_PAGE_ERROR || record.NumberParameters < 2) return EXCEPTION_CONTINUE_SEARCH;
  const char* const path = mapped_file_at(reinterpret_cast<const void*>(record.ExceptionInformation[1]));
  if (path == nullptr) return EXCEPTION_CONTINUE_SEARCH;
  print_line(path, ": cannot be read any more");
  end_with(kBadFile);
}

}  // namespace

void handle_signals() {
  SetConsoleCtrlHandler(on_console_event, TRUE);
  SetUnhandledExceptionFilter(on_page_error);
  SetErrorMode(SEM_FAILCRITICALERRORS | SEM_NOGPFAULTERRORBOX | SEM_NOOPENFILEERRORBOX);
  std::signal(SIGABRT, [](int) { remove_temporary_files(); });  // abort() goes on
  std::set_new_handler([] { give_up("out of memory", kOutOfMemory); });
}

int status_after_signals(int status) {
  return g_ending && (status == kOk || status == kInterrupted) ? kEndStatus : status;
}

const char* end_in_order() { return g_ending.exchange(false) ? "the end of the console" : "Ctrl-C"; }

void give_up(const char* why, int status) {
  static std::atomic_flag said;  // memory ends for several threads at once; one line is enough
  while (said.test_and_set()) Sleep(INFINITE);
  remove_temporary_files();
  print_line(why, "");
  _exit(status);
}

void watch_interrupts() { g_watched = true; }

bool interrupted() { return g_stop; }
const std::atomic<bool>& interrupt_flag() { return g_stop; }
int interrupt_descriptor() { return -1; }

void clear_interrupt() {
  g_interrupted = false;
  g_stop = g_ending.load();
}

}  // namespace loom::cli
