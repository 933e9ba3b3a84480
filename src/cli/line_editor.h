#pragma once
// Lines that a person types. With libedit (found when Loom was built) and on a terminal that knows escapes: arrows,
// history, pasted text as one message. Otherwise plain lines.

#include <memory>
#include <string>

namespace loom::cli {

class LineEditor {
 public:
  enum class Outcome { Line, Interrupted, End };

  // History is kept in `history_file`, for its owner alone; empty: not kept.
  explicit LineEditor(const std::string& history_file);
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  // One line without its end; pasted text and Alt-Enter may put line breaks into it. `colour` is an escape for the
  // prompt, or empty. Interrupted: Ctrl-C, what was typed is dropped.
  Outcome read(const std::string& prompt, const std::string& colour, std::string& line);
  // A whole message: a line that ends in a backslash goes on in the next one, and what begins with """ ends with """.
  Outcome read_message(const std::string& prompt, const std::string& colour, std::string& message);

 private:
  void remember(const std::string& message);
  struct Editing;
  std::unique_ptr<Editing> editing_;  // null: plain lines
  std::string history_file_;
};

// XDG_STATE_HOME/loom/chat_history, by default ~/.local/state/loom/chat_history; empty without a home folder.
std::string default_history_file();

}  // namespace loom::cli
