#include "cli/line_editor.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cwchar>
#include <deque>
#include <filesystem>

#ifdef LOOM_HAVE_LibEdit
#include <fcntl.h>
#include <histedit.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

#include "cli/common.h"
#include "cli/console.h"
#include "core/file.h"
#include "core/json.h"
#include "text/unicode/utf8.h"

namespace loom::cli {
namespace {

LineEditor::Outcome read_plain(const std::string& prompt, const std::string& colour, std::string& line) {
  if (is_terminal(kInput) && is_terminal(kOutput))
    std::printf("%s%s%s", colour.c_str(), prompt.c_str(), colour.empty() ? "" : "\033[0m");
  std::fflush(stdout);
  line.clear();
  for (;;) {
    if (interrupted()) {  // SIGTERM or SIGHUP during an answer
      clear_interrupt();
      return LineEditor::Outcome::Interrupted;
    }
    char c;
    const int n = read_byte(c);
    if (n < 0 && (interrupted() || errno == EINTR)) continue;
    if (n <= 0) return line.empty() ? LineEditor::Outcome::End : LineEditor::Outcome::Line;
    if (c == '\n') return LineEditor::Outcome::Line;
    if (c != '\r') line += c;
  }
}

}  // namespace

#ifdef LOOM_HAVE_LibEdit

namespace {

constexpr std::size_t kRemembered = 1000;  // messages
constexpr std::size_t kLongestFile = std::size_t{4} << 20;

// The history: one JSON text per line, the newest last. Lines that are none are passed over.
std::deque<std::string> read_history(const std::string& path) {
  std::deque<std::string> entries;
  const auto text = read_text_file(path, kLongestFile);
  if (!text) return entries;
  for (std::size_t begin = 0; begin < text->size();) {
    const std::size_t end = std::min(text->find('\n', begin), text->size());
    if (const auto entry = parse_json(std::string_view(*text).substr(begin, end - begin)); entry && as_string(*entry))
      entries.push_back(*as_string(*entry));
    if (entries.size() > kRemembered) entries.pop_front();
    begin = end + 1;
  }
  return entries;
}

// A history that cannot be written is no reason to stop a conversation: it is then not kept.
void write_all(const std::string& path, int flags, const std::string& text) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | flags, 0600);
  struct stat status{};
  if (fd >= 0 && ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
    [[maybe_unused]] const int mode = ::fchmod(fd, 0600);
    [[maybe_unused]] const ssize_t n = ::write(fd, text.data(), text.size());
  }
  if (fd >= 0) ::close(fd);
}

}  // namespace

struct LineEditor::Editing {
  EditLine* line = nullptr;
  HistoryW* history = nullptr;
  std::wstring prompt;       // with its escapes between two \1
  bool interrupted = false;  // Ctrl-C ended the line

  ~Editing() {
    if (line != nullptr) el_end(line);
    if (history != nullptr) history_wend(history);
  }
};

namespace {

std::wstring wide(std::string_view text) {
  std::wstring out;
  text::for_each_code_point(
      text, [&](std::uint32_t c) { out += static_cast<wchar_t>(c <= text::kMaxCodePoint ? c : text::kReplacement); });
  return out;
}

volatile std::sig_atomic_t g_resized = 0, g_continued = 0;

// While a line is read: a window of another size is drawn again, and a program that comes back after Ctrl-Z takes the
// terminal again. Nothing else of signals changes, so whatever ends the program works as elsewhere.
class SignalsOfReading {
 public:
  SignalsOfReading() {
    struct sigaction action{};
    // without SA_RESTART: read() must return
    action.sa_handler = [](int signal) { (signal == SIGWINCH ? g_resized : g_continued) = 1; };
    sigaction(SIGWINCH, &action, &old_[0]);
    sigaction(SIGCONT, &action, &old_[1]);
  }
  ~SignalsOfReading() {
    sigaction(SIGWINCH, &old_[0], nullptr);
    sigaction(SIGCONT, &old_[1], nullptr);
  }
  SignalsOfReading(const SignalsOfReading&) = delete;
  SignalsOfReading& operator=(const SignalsOfReading&) = delete;

 private:
  struct sigaction old_[2];
};

// libedit's own goes on reading after a signal that should end the program.
int read_character(EditLine* line, wchar_t* character) {
  std::string bytes;
  for (;;) {
    char byte;
    const int n = read_byte(byte);
    if (n == 0) return 0;
    if (n < 0) {
      if (errno != EINTR || interrupted()) return -1;
      const bool continued = g_continued != 0, resized = g_resized != 0;
      g_continued = 0;
      g_resized = 0;
      if (continued) {
        el_wset(line, EL_PREP_TERM, 0);
        el_wset(line, EL_PREP_TERM, 1);
      }
      if (continued || resized) {
        el_resize(line);
        el_wset(line, EL_REFRESH);
      }
      continue;
    }
    bytes += byte;
    if (text::incomplete_tail(bytes) == bytes.size()) continue;  // the rest of a character is to come
    const std::uint32_t c = text::decode_utf8(bytes.data(), bytes.data() + bytes.size()).code_point;
    *character = static_cast<wchar_t>(c <= text::kMaxCodePoint ? c : text::kReplacement);
    return 1;
  }
}

unsigned char end_of_pasted(EditLine* line, wint_t) {
  constexpr std::wstring_view kEnd = L"\033[201~";
  std::wstring pasted;
  for (wchar_t c; !pasted.ends_with(kEnd);) {
    if (el_wgetc(line, &c) != 1) return CC_EOF;
    pasted += c == L'\r' ? L'\n' : c;
  }
  pasted.resize(pasted.size() - kEnd.size());
  // A line break at its end would stand under the last line and say nothing.
  while (!pasted.empty() && pasted.back() == L'\n') pasted.pop_back();
  std::wstring shown;
  for (const wchar_t c : pasted)
    if (c == L'\n' || c == L'\t' || (c >= 0x20 && c != 0x7f)) shown += c;
  return shown.empty() || el_winsertstr(line, shown.c_str()) == 0 ? CC_REFRESH : CC_REFRESH_BEEP;
}

unsigned char line_break(EditLine* line, wint_t) {
  return el_winsertstr(line, L"\n") == 0 ? CC_REFRESH : CC_REFRESH_BEEP;
}

}  // namespace

LineEditor::LineEditor(const std::string& history_file) : history_file_(history_file) {
  if (!knows_escapes(kOutput) || !is_terminal(kInput)) return;
  use_utf8();
  auto editing = std::make_unique<Editing>();
  editing->line = el_init("loom", stdin, stdout, stderr);
  editing->history = history_winit();
  if (editing->line == nullptr || editing->history == nullptr) return;
  EditLine* const e = editing->line;
  HistEventW event;
  history_w(editing->history, &event, H_SETSIZE, static_cast<int>(kRemembered));
  history_w(editing->history, &event, H_SETUNIQUE, 1);
  el_wset(e, EL_CLIENTDATA, editing.get());
  el_wset(
      e, EL_PROMPT_ESC,
      +[](EditLine* line) {
        void* data = nullptr;
        el_wget(line, EL_CLIENTDATA, &data);
        return static_cast<Editing*>(data)->prompt.data();
      },
      L'\1');
  el_wset(e, EL_HIST, history_w, editing->history);
  el_wset(e, EL_EDITOR, L"emacs");
  el_wset(e, EL_GETCFN, &read_character);
  // Ctrl-C is a key of the editor, which acts on the line.
  el_wset(e, EL_SETTY, L"-d", L"intr=", nullptr);
  el_wset(
      e, EL_ADDFN, L"loom-interrupt", L"Drop the line", +[](EditLine* line, wint_t) -> unsigned char {
        void* data = nullptr;
        el_wget(line, EL_CLIENTDATA, &data);
        static_cast<Editing*>(data)->interrupted = true;
        el_wpush(line, L"\n");  // ends the line as Enter does, below whatever was typed
        return CC_NORM;
      });
  el_wset(e, EL_ADDFN, L"loom-paste", L"Take pasted text as it is", &end_of_pasted);
  el_wset(e, EL_ADDFN, L"loom-line-break", L"Go on in a new line", &line_break);
  const std::pair<const wchar_t*, const wchar_t*> keys[] = {{L"^C", L"loom-interrupt"},
                                                            {L"\\e[200~", L"loom-paste"},
                                                            {L"\\e\\n", L"loom-line-break"},
                                                            {L"\\e\\r", L"loom-line-break"},
                                                            {L"\\e[1;5C", L"em-next-word"},
                                                            {L"\\e[1;5D", L"ed-prev-word"},
                                                            {L"\\e[3~", L"ed-delete-next-char"},
                                                            {L"\\e[H", L"ed-move-to-beg"},
                                                            {L"\\e[F", L"ed-move-to-end"},
                                                            {L"\\e[1~", L"ed-move-to-beg"},
                                                            {L"\\e[4~", L"ed-move-to-end"},
                                                            {L"^R", L"em-inc-search-prev"},
                                                            {L"\\t", L"ed-insert"}};
  for (const auto& [key, function] : keys) el_wset(e, EL_BIND, key, function, nullptr);
  const std::deque<std::string> entries = read_history(history_file_);
  for (const std::string& entry : entries) history_w(editing->history, &event, H_ENTER, wide(entry).c_str());
  // The file grows by a line per message; it is rewritten before reading it takes long.
  std::error_code ignored;
  if (!history_file_.empty() && std::filesystem::file_size(history_file_, ignored) > kLongestFile / 4 && !ignored) {
    std::string text;
    for (const std::string& entry : entries) text += dump_json(Json(entry)) + "\n";
    write_all(history_file_, O_TRUNC, text);
  }
  editing_ = std::move(editing);
}

LineEditor::~LineEditor() = default;

LineEditor::Outcome LineEditor::read(const std::string& prompt, const std::string& colour, std::string& line) {
  if (!editing_) return read_plain(prompt, colour, line);
  Editing& e = *editing_;
  e.prompt = colour.empty() ? wide(prompt) : L"\1" + wide(colour) + L"\1" + wide(prompt) + L"\1\033[0m\1";
  e.interrupted = false;
  std::fputs("\033[?2004h", stdout);  // the terminal marks what is pasted
  std::fflush(stdout);
  int count = 0;
  const wchar_t* typed = nullptr;
  {
    const SignalsOfReading signals;
    el_wset(e.line, EL_PREP_TERM, 1);  // before the prompt is seen: a key that comes at once is a key, not a signal
    if (interrupted())                 // by a key between two lines, or by SIGTERM or SIGHUP during an answer
      el_wset(e.line, EL_PREP_TERM, 0);
    else
      typed = el_wgets(e.line, &count);
  }
  std::fputs("\033[?2004l", stdout);
  std::fflush(stdout);
  line.clear();
  if (e.interrupted) return Outcome::Interrupted;
  if (typed == nullptr || count <= 0) {
    if (!interrupted()) return Outcome::End;
    clear_interrupt();
    return Outcome::Interrupted;
  }
  for (int i = 0; i < count; ++i) text::append_utf8(line, static_cast<std::uint32_t>(typed[i]));
  if (!line.empty() && line.back() == '\n') line.pop_back();
  return Outcome::Line;
}

void LineEditor::remember(const std::string& message) {
  if (!editing_ || message.find_first_not_of(" \t\n") == message.npos) return;
  HistEventW event;
  history_w(editing_->history, &event, H_ENTER, wide(message).c_str());
  if (history_file_.empty()) return;
  std::error_code ignored;
  const auto folder = std::filesystem::path(history_file_).parent_path();
  if (std::filesystem::create_directories(folder, ignored))
    std::filesystem::permissions(folder, std::filesystem::perms::owner_all, ignored);
  write_all(history_file_, O_APPEND, dump_json(Json(message)) + "\n");
}

#else

struct LineEditor::Editing {};
LineEditor::LineEditor(const std::string& history_file) : history_file_(history_file) {}
LineEditor::~LineEditor() = default;
LineEditor::Outcome LineEditor::read(const std::string& prompt, const std::string& colour, std::string& line) {
  return read_plain(prompt, colour, line);
}
void LineEditor::remember(const std::string&) {}

#endif

LineEditor::Outcome LineEditor::read_message(const std::string& prompt, const std::string& colour,
                                             std::string& message) {
  constexpr std::string_view kQuotes = "\"\"\"";
  const std::string more(". ");
  std::string line;
  if (const Outcome first = read(prompt, colour, line); first != Outcome::Line) return first;
  std::string typed = line;
  const auto go_on = [&] {
    const Outcome next = read(more, colour, line);
    if (next == Outcome::Line) typed += "\n" + line;
    return next;
  };
  if (line.starts_with(kQuotes)) {
    while (typed.size() < 2 * kQuotes.size() || !typed.ends_with(kQuotes)) {
      const Outcome next = go_on();
      if (next == Outcome::Interrupted) return next;
      if (next == Outcome::End) break;  // the end of the input ends the block
    }
    message = typed.substr(kQuotes.size());
    if (message.ends_with(kQuotes)) message.resize(message.size() - kQuotes.size());
    if (message.starts_with('\n')) message.erase(0, 1);
    if (message.ends_with('\n')) message.pop_back();
  } else {
    message = typed;
    while (message.ends_with('\\')) {
      const Outcome next = go_on();
      if (next == Outcome::Interrupted) return next;
      message.pop_back();
      if (next == Outcome::End) break;
      message += "\n" + line;
    }
  }
  remember(message);
  return Outcome::Line;
}

std::string default_history_file() {
  const char* const state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && *state == '/') return std::string(state) + "/loom/chat_history";
  const char* const home = std::getenv("HOME");
  return home != nullptr && *home == '/' ? std::string(home) + "/.local/state/loom/chat_history" : std::string();
}

}  // namespace loom::cli
