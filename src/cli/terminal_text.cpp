#include "cli/terminal_text.h"

#include <fmt/format.h>

#include "core/json.h"

namespace loom::cli {
namespace {

struct DecodedCharacter {
  std::size_t length = 1;
  char32_t value = 0;
  bool valid = false;
};

DecodedCharacter first_of(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {1, lead, true};
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (!is_utf8(text.substr(0, length)) || text.size() < length) return {1, lead, false};
  char32_t value = lead & (0xff >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) value = value << 6 | (byte(i) & 0x3f);
  return {length, value, true};
}

bool is_unsafe(char32_t c) {
  return c < 0x20 || (c >= 0x7f && c <= 0x9f) || c == 0x061c || c == 0x200e || c == 0x200f ||
         (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
}

}  // namespace

std::string terminal_text(std::string_view text, std::size_t max_bytes) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const DecodedCharacter c = first_of(text.substr(i));
    if (!c.valid || is_unsafe(c.value))
      out += c.value < 0x100 && (!c.valid || c.value < 0x80) ? fmt::format("\\x{:02x}", static_cast<unsigned>(c.value))
                                                             : fmt::format("\\u{:04x}", static_cast<unsigned>(c.value));
    else
      out += text.substr(i, c.length);
    i += c.length;
  }
  if (out.size() <= max_bytes) return out;
  const auto begins_character = [&](std::size_t at) { return (static_cast<unsigned char>(out[at]) & 0xc0) != 0x80; };
  std::size_t head = max_bytes * 2 / 3, tail = out.size() - max_bytes / 3;
  while (!begins_character(head)) --head;
  while (tail < out.size() && !begins_character(tail)) ++tail;
  return fmt::format("{} ... ({} bytes) ... {}", std::string_view(out).substr(0, head), tail - head,
                     std::string_view(out).substr(tail));
}

std::string terminal_json(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (std::size_t i = 0; i < json.size();) {
    if (static_cast<unsigned char>(json[i]) < 0x7f) {  // layout, or escaped by the writer
      out += json[i++];
      continue;
    }
    const DecodedCharacter c = first_of(json.substr(i));
    if (c.valid && is_unsafe(c.value))
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c.value));
    else
      out += json.substr(i, c.length);
    i += c.length;
  }
  return out;
}

}  // namespace loom::cli
