#include "capi/guard.h"

#include <algorithm>
#include <exception>
#include <new>
#include <string_view>

#include "core/fp_environment.h"
#include "core/hooks.h"

namespace loom::capi {
namespace {

// Plain memory: a host's destructors may call when those of this thread have run.
constexpr std::size_t kLongestText = 2048;
thread_local char t_last_error[kLongestText];

// One line: control characters become blanks, and what is too long ends before the character that does not fit.
void remember(std::string_view text) {
  std::size_t n = std::min(text.size(), kLongestText - 1);
  while (n < text.size() && n > 0 && (static_cast<unsigned char>(text[n]) & 0xc0) == 0x80) --n;
  for (std::size_t i = 0; i < n; ++i)
    t_last_error[i] = static_cast<unsigned char>(text[i]) < ' ' || text[i] == '\x7f' ? ' ' : text[i];
  t_last_error[n] = '\0';
}

// The host's log comes first: what it calls may fail too, and this text is the last one.
loom_status failed(Code code, std::string_view text) {
  log_message(LogLevel::Error, fmt::format("{}: {}", code_name(code), text));
  remember(text);
  return static_cast<loom_status>(code);
}

// No log: its line would need memory.
loom_status failed_without_memory() {
  remember("out of memory");
  return LOOM_OUT_OF_MEMORY;
}

}  // namespace

loom_status run_guarded(Result<void> (*call)(void*), void* body) {
  try {
    const FpEnvironment environment;
    const Result<void> done = call(body);
    return done ? LOOM_OK : failed(done.error().code, done.error().text());
  } catch (const std::bad_alloc&) {
    return failed_without_memory();
  } catch (const std::exception& e) {
    return failed(Code::InvalidState, e.what());
  } catch (...) {
    return failed(Code::InvalidState, "an unknown exception");
  }
}

const char* last_error() { return t_last_error; }

}  // namespace loom::capi
