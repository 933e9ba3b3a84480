#pragma once
// Properties of a terminal: its size, and how wide text is on it.

#include <string>
#include <string_view>

namespace loom::cli {

// Characters are counted and lines are edited as UTF-8 whatever the environment says; numbers keep the C locale's
// forms.
void use_utf8();

struct TerminalSize {
  int columns = 80, rows = 24;
};
// COLUMNS and LINES if they are set, else the size that the terminal at `fd` reports. Kept within 20 to 500 columns and
// 4 to 300 rows: a terminal may claim anything.
TerminalSize terminal_size(int fd);

// Columns that the text takes; characters that move nothing count 0, wide ones 2.
int display_width(std::string_view text);
// Returns the text, or an ellipsis and as much of its end as fits: the end of a path says most.
std::string clip_front(std::string_view text, int columns);
// Like clip_front(), for the beginning.
std::string clip_back(std::string_view text, int columns);

// Model output made safe for a terminal: control characters other than line breaks and tabs become "?" (for one line of
// untrusted text: terminal_text.h).
std::string screen_text(std::string_view text);

// "~" and "~/x" stand for the home folder, as in a shell.
std::string expand_home(const std::string& path);

}  // namespace loom::cli
