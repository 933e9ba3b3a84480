#pragma once
// Streams, terminal and process of the program by the calls of its system: console/posix.cpp, console/windows.cpp.

#include <optional>
#include <string>
#include <vector>

#include "cli/terminal.h"

namespace loom::cli {

inline constexpr int kInput = 0, kOutput = 1, kErrors = 2;  // descriptors of the standard streams

// For main, once and first. Closed standard streams are replaced, so that the next file does not get their numbers.
// On Windows streams carry bytes as they are, and a console shows UTF-8 and obeys escapes.
void prepare_streams();

// The arguments without the program's own name, as UTF-8.
std::vector<std::string> program_arguments(int argc, char** argv);
// The path of the program's file; empty where the system does not report it.
std::string program_path();

bool is_terminal(int fd);
// A terminal that obeys escapes. On Linux and macOS TERM is set and not "dumb".
bool knows_escapes(int fd);
// The size that the terminal at `fd` reports.
std::optional<TerminalSize> reported_size(int fd);
// Columns of a character: 0 for marks and control characters, 2 for wide ones.
int width_of_character(char32_t c);

// Reads one byte of standard input: 1; 0 at its end; -1 after interrupted() or another signal.
int read_byte(char& byte);

// The most memory that the process has used.
double peak_rss_mb();

}  // namespace loom::cli
