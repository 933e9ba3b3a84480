#include "cli/terminal.h"

#include <algorithm>
#include <clocale>
#include <cstdlib>
#include <vector>

#include "cli/console.h"
#include "text/unicode/utf8.h"

namespace loom::cli {
namespace {

constexpr std::string_view kEllipsis = "\u2026";

// A whole positive number of the environment; 0 when it is none.
int number_of(const char* variable) {
  const char* const text = std::getenv(variable);
  if (text == nullptr || *text == '\0') return 0;
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  return *end == '\0' && value > 0 ? static_cast<int>(std::min(value, 100000L)) : 0;
}

int width_of(std::uint32_t c) { return c > text::kMaxCodePoint ? 1 : width_of_character(c); }

bool is_control(std::uint32_t c) { return c < 0x20 || (c >= 0x7f && c < 0xa0); }

struct Character {
  std::string_view bytes;
  int width;
};
std::vector<Character> characters(std::string_view text) {
  std::vector<Character> out;
  for (const char *p = text.data(), *const end = p + text.size(); p < end;) {
    const text::Decoded d = text::decode_utf8(p, end);
    out.push_back({{p, d.length}, width_of(d.code_point)});
    p += d.length;
  }
  return out;
}

}  // namespace

void use_utf8() {
  [[maybe_unused]] static const bool done = [] {
    for (const char* name : {"C.UTF-8", "en_US.UTF-8", ""})
      if (std::setlocale(LC_CTYPE, name) != nullptr) return true;
    return false;
  }();
}

TerminalSize terminal_size(int fd) {
  TerminalSize size = reported_size(fd).value_or(TerminalSize{});
  if (const int columns = number_of("COLUMNS")) size.columns = columns;
  if (const int rows = number_of("LINES")) size.rows = rows;
  return {std::clamp(size.columns, 20, 500), std::clamp(size.rows, 4, 300)};
}

int display_width(std::string_view text) {
  use_utf8();
  int width = 0;
  text::for_each_code_point(text, [&](std::uint32_t c) { width += width_of(c); });
  return width;
}

std::string clip_front(std::string_view text, int columns) {
  if (display_width(text) <= columns) return std::string(text);
  const std::vector<Character> all = characters(text);
  std::size_t first = all.size();
  for (int used = 1; first > 0 && used + all[first - 1].width <= columns; --first) used += all[first - 1].width;
  std::string out(columns > 0 ? kEllipsis : "");
  while (first < all.size() && all[first].width == 0) ++first;  // marks of the character that was cut away
  for (; first < all.size(); ++first) out += all[first].bytes;
  return out;
}

std::string clip_back(std::string_view text, int columns) {
  if (display_width(text) <= columns) return std::string(text);
  std::string out;
  int used = 1;
  for (const Character& c : characters(text)) {
    used += c.width;
    if (used > columns) break;
    out += c.bytes;
  }
  return out.append(columns > 0 ? kEllipsis : "");
}

std::string screen_text(std::string_view text) {
  std::string out;
  text::for_each_code_point(
      text, [&](std::uint32_t c) { text::append_utf8(out, is_control(c) && c != '\n' && c != '\t' ? '?' : c); });
  return out;
}

std::string expand_home(const std::string& path) {
  const char* const home = std::getenv("HOME");
  if (home == nullptr || *home == '\0' || path.empty() || path[0] != '~' || (path.size() > 1 && path[1] != '/'))
    return path;
  return home + path.substr(1);
}

}  // namespace loom::cli
