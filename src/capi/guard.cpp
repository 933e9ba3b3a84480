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
thread_local char t_wrong_answer[128];  // of a callback of the call that runs; empty: none

// One line: control characters become blanks, and what is too long ends before the character that does not fit.
void remember(std::string_view text) {
  std::size_t n = std::min(text.size(), kLongestText - 1);
  while (n < text.size() && n > 0 && (static_cast<unsigned char>(text[n]) & 0xc0) == 0x80) --n;
  for (std::size_t i = 0; i < n; ++i)
    t_last_error[i] = static_cast<unsigned char>(text[i]) < ' ' || text[i] == '\x7f' ? ' ' : text[i];
  t_last_error[n] = '\0';
}

// A text that names options of the program loom names the host's settings instead: chat_template for --chat-template.
// Texts with a command of the program stay.
std::string in_words_of_the_host(std::string text) {
  if (text.find("loom ") != text.npos) return text;
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  for (std::size_t i = 0; (i = text.find("--", i)) != text.npos;) {
    const bool begins_word = i == 0 || text[i - 1] == ' ' || text[i - 1] == '(';
    if (!begins_word || i + 2 >= text.size() || !is_letter(text[i + 2])) {
      i += 2;
      continue;
    }
    text.erase(i, 2);
    for (; i < text.size() && (is_letter(text[i]) || text[i] == '-'); ++i)
      if (text[i] == '-') text[i] = '_';
  }
  return text;
}

// The host's log comes first: what it calls may fail too, and this text is the last one.
loom_status failed(Code code, std::string error) {
  const std::string text = in_words_of_the_host(std::move(error));
  log_message(LogLevel::Error, fmt::format("{}: {}", code_name(code), text));
  remember(text);
  return static_cast<loom_status>(code);
}

// No log: its line would need memory.
loom_status failed_without_memory() {
  remember("out of memory");
  return LOOM_OUT_OF_MEMORY;
}

// Ends a call: a wrong answer of one of its callbacks is its error. The text is found once: thread-local memory of a
// shared library costs a call.
class Answers {
 public:
  Answers() = default;
  Answers(const Answers&) = delete;
  Answers& operator=(const Answers&) = delete;
  ~Answers() {
    if (are_wrong()) *wrong_ = '\0';
  }
  bool are_wrong() const { return is_outermost_ && *wrong_ != '\0'; }
  const char* text() const { return wrong_; }

 private:
  char* const wrong_ = t_wrong_answer;
  const bool is_outermost_ = *wrong_ == '\0';  // else this call was made from a later callback
};

}  // namespace

namespace {
loom_status run_in_environment(const Answers& answers, Result<void> (*call)(void*), void* body) {
  const FpEnvironment environment;
  const Result<void> done = call(body);
  if (answers.are_wrong()) return failed(Code::InvalidArgument, answers.text());
  return done ? LOOM_OK : failed(done.error().code, done.error().text());
}
}  // namespace

#if defined(__wasm__)  // without exceptions: where memory runs out in a small request, the host ends the call (js.cpp)
loom_status run_guarded(Result<void> (*call)(void*), void* body) {
  const Answers answers;
  return run_in_environment(answers, call, body);
}
#else
loom_status run_guarded(Result<void> (*call)(void*), void* body) {
  const Answers answers;
  try {
    return run_in_environment(answers, call, body);
  } catch (const std::bad_alloc&) {
    return failed_without_memory();
  } catch (const std::exception& e) {
    return failed(Code::InvalidState, e.what());
  } catch (...) {
    return failed(Code::InvalidState, "an unknown exception");
  }
}
#endif

const char* last_error() { return t_last_error; }

bool continues(std::int32_t answer, const char* callback) {
  if ((answer == 0 || answer == 1) || t_wrong_answer[0] != '\0') return answer == 1;
  const auto end =
      fmt::format_to_n(t_wrong_answer, sizeof t_wrong_answer - 1,
                       "the callback {} returned {}: expected 1 to continue or 0 to stop", callback, answer);
  *end.out = '\0';
  return false;
}

Result<void> need_answers() {
  return t_wrong_answer[0] == '\0' ? Result<void>() : fail(Code::InvalidArgument, "{}", t_wrong_answer);
}

}  // namespace loom::capi
