#pragma once
// The program ends in order on a signal, when memory runs out, and when a file is cut while it is mapped: no
// temporary file is left, and one line on stderr says why.

namespace loom::cli {

// For main, once and first. Ctrl-C, SIGTERM and SIGHUP stop a watched command as its next interrupted() says (common.h)
// and end any other; a second Ctrl-C ends both. A signal that was ignored when the program started stays ignored
// (nohup).
void handle_signals();

// The program's exit code for a command's status: 128 + the signal, if one has stopped it.
int status_after_signals(int status);

// For a command that a signal ends as it should: its own status is the exit code. Returns the name of that signal.
const char* end_in_order();

// Removes temporary files, prints "loom: WHY" and ends the program. Allocates nothing.
[[noreturn]] void give_up(const char* why, int status);

}  // namespace loom::cli
