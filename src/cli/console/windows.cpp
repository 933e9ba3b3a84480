// The console of Windows 10 or newer, which knows UTF-8 and escapes once a program asks for them.

#include <windows.h>

#include <fcntl.h>
#include <io.h>
#include <psapi.h>
#include <shellapi.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "cli/common.h"
#include "cli/console.h"
#include "text/unicode/utf8.h"

namespace loom::cli {
namespace {

HANDLE handle_of_stream(int fd) { return reinterpret_cast<HANDLE>(_get_osfhandle(fd)); }

bool is_console(int fd) {
  DWORD mode = 0;
  return GetConsoleMode(handle_of_stream(fd), &mode) != 0;
}

std::string utf8_of(std::wstring_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::uint32_t c = text[i];
    const bool is_pair = c >= 0xd800 && c < 0xdc00 && i + 1 < text.size() && (text[i + 1] & 0xfc00) == 0xdc00;
    if (is_pair) c = 0x10000 + ((c & 0x3ff) << 10) + (text[++i] & 0x3ff);
    text::append_utf8(out, c >= 0xd800 && c < 0xe000 ? text::kReplacement : c);
  }
  return out;
}

struct Range {
  char32_t first, last;
};
// Blocks of Unicode whose characters take two columns, and those of marks, which take none.
constexpr Range kWide[] = {{0x1100, 0x115f},   {0x2e80, 0x303e},  {0x3041, 0x4dbf},   {0x4e00, 0xa4cf},
                           {0xa960, 0xa97f},   {0xac00, 0xd7a3},  {0xf900, 0xfaff},   {0xfe30, 0xfe6f},
                           {0xff00, 0xff60},   {0xffe0, 0xffe6},  {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff},
                           {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};
constexpr Range kMarks[] = {{0x300, 0x36f},   {0x483, 0x489},   {0x591, 0x5bd},   {0x610, 0x61a},   {0x64b, 0x65f},
                            {0x200b, 0x200f}, {0x202a, 0x202e}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}};

template <std::size_t n>
bool is_in(char32_t c, const Range (&ranges)[n]) {
  return std::ranges::any_of(ranges, [&](const Range& range) { return c >= range.first && c <= range.last; });
}

// Bytes of a typed line that read_byte() has not returned.
struct TypedLine {
  std::string bytes;
  std::size_t at = 0;
};

// Reads a line of the console: false at Ctrl-Z, and where Ctrl-C has ended it.
bool read_console(TypedLine& line) {
  std::array<wchar_t, 4096> typed{};
  DWORD units = 0;
  if (ReadConsoleW(handle_of_stream(kInput), typed.data(), static_cast<DWORD>(typed.size()), &units, nullptr) == 0 ||
      units == 0 || typed[0] == 0x1a)
    return false;
  line = {utf8_of({typed.data(), units}), 0};
  return true;
}

}  // namespace

void prepare_streams() {
  for (const int fd : {kInput, kOutput, kErrors}) {
    if (_get_osfhandle(fd) < 0) continue;  // closed: the C library has no number to give again
    _setmode(fd, _O_BINARY);
    DWORD mode = 0;
    if (fd != kInput && GetConsoleMode(handle_of_stream(fd), &mode) != 0) {
      SetConsoleOutputCP(CP_UTF8);
      SetConsoleMode(handle_of_stream(fd), mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
    }
  }
}

std::vector<std::string> program_arguments(int, char**) {
  std::vector<std::string> out;
  int count = 0;
  wchar_t** const words = CommandLineToArgvW(GetCommandLineW(), &count);
  for (int i = 1; words != nullptr && i < count; ++i) out.push_back(utf8_of(words[i]));
  LocalFree(words);
  return out;
}

std::string program_path() {
  std::array<wchar_t, 4096> path{};
  const DWORD length = GetModuleFileNameW(nullptr, path.data(), static_cast<DWORD>(path.size()));
  return length == 0 || length == path.size() ? std::string() : utf8_of({path.data(), length});
}

bool is_terminal(int fd) { return is_console(fd); }

bool knows_escapes(int fd) {
  DWORD mode = 0;
  return GetConsoleMode(handle_of_stream(fd), &mode) != 0 && (mode & ENABLE_VIRTUAL_TERMINAL_PROCESSING) != 0;
}

std::optional<TerminalSize> reported_size(int fd) {
  CONSOLE_SCREEN_BUFFER_INFO told{};
  if (GetConsoleScreenBufferInfo(handle_of_stream(fd), &told) == 0) return std::nullopt;
  return TerminalSize{told.srWindow.Right - told.srWindow.Left + 1, told.srWindow.Bottom - told.srWindow.Top + 1};
}

int width_of_character(char32_t c) {
  if (c < 0x20 || (c >= 0x7f && c < 0xa0) || is_in(c, kMarks)) return 0;
  return is_in(c, kWide) ? 2 : 1;
}

int read_byte(char& byte) {
  if (interrupted()) return -1;
  if (!is_console(kInput)) {
    const int n = _read(kInput, &byte, 1);
    return interrupted() ? -1 : n;
  }
  static TypedLine line;
  if (line.at == line.bytes.size() && !read_console(line)) {
    Sleep(50);  // Ctrl-C reaches another thread, which may come later than the end of this call
    return interrupted() ? -1 : 0;
  }
  byte = line.bytes[line.at++];
  return 1;
}

double peak_rss_mb() {
  PROCESS_MEMORY_COUNTERS used{};
  used.cb = sizeof used;
  if (K32GetProcessMemoryInfo(GetCurrentProcess(), &used, sizeof used) == 0) return 0;
  return static_cast<double>(used.PeakWorkingSetSize) / (1024.0 * 1024.0);
}

}  // namespace loom::cli
