#pragma once
// Character properties as in Python's str (Unicode 14, Python 3.11): case, white space, classes. Texts are UTF-8; a
// byte that is not valid UTF-8 counts as one character and is copied as it is.

#include <cstdint>
#include <string>
#include <string_view>

namespace loom::jinja {

struct CodePoint {
  char32_t value;      // U+FFFFFFFF for an invalid byte
  std::uint32_t size;  // bytes
};
CodePoint decode_at(std::string_view text, std::size_t offset);
void append_utf8(std::string& out, char32_t c);
bool is_ascii(std::string_view text);
std::size_t count_code_points(std::string_view text);
// Returns where the last character of a text that is not empty begins.
std::size_t last_character(std::string_view text);
// Byte offset of character `index`, text.size() when there are fewer.
std::size_t offset_of(std::string_view text, std::size_t index);

bool is_space(char32_t c);  // str.isspace
bool is_printable(char32_t c);
bool is_alpha(char32_t c);
bool is_decimal(char32_t c);
bool is_digit(char32_t c);
bool is_numeric(char32_t c);
bool is_lower(char32_t c);
bool is_upper(char32_t c);
bool is_title(char32_t c);
inline bool is_cased(char32_t c) { return is_lower(c) || is_upper(c) || is_title(c); }

std::string to_upper(std::string_view text);
std::string to_lower(std::string_view text);
std::string to_title(std::string_view text);    // str.title()
std::string to_capital(std::string_view text);  // str.capitalize()
std::string swap_case(std::string_view text);
std::string fold_case(std::string_view text);  // str.casefold()

std::string_view strip_left(std::string_view text);  // white space
std::string_view strip_right(std::string_view text);

}  // namespace loom::jinja
