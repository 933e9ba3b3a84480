#pragma once
// Untrusted text (names in files, paths, messages that repeat them) made safe for a terminal.

#include <string>
#include <string_view>

namespace loom::cli {

// One line: control characters (C0, DEL, C1), line and paragraph separators, marks that change the direction of writing
// and bytes that are no UTF-8 are shown as \x1b or \u202e; the rest stays. Beyond `max_bytes` its middle is left out:
// what is wrong stands at the end of a message.
std::string terminal_text(std::string_view text, std::size_t max_bytes = 1000);

// Like terminal_text(), for JSON text, which stays the same JSON: such characters are only in strings, as escapes.
std::string terminal_json(std::string_view json);

}  // namespace loom::cli
