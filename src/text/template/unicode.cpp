#include "text/template/unicode.h"

#include <algorithm>
#include <iterator>

namespace loom::jinja {
namespace {

struct Span {
  std::uint32_t first, count;
};
struct CaseRun {
  std::uint32_t first, last;
  std::int32_t stride, delta;
};
struct CaseSpecial {
  std::uint32_t from;
  char32_t to[3];
};
#include "text/template/unicode_tables.inc"

constexpr char32_t kInvalid = 0xffffffff;
constexpr char32_t kCapitalSigma = 0x3a3;

template <std::size_t N>
bool in(const Span (&table)[N], char32_t c) {
  const Span* end = table + N;
  const Span* it = std::upper_bound(table, end, c, [](char32_t x, const Span& s) { return x < s.first; });
  return it != table && c - (it - 1)->first < (it - 1)->count;
}

template <std::size_t N, std::size_t M>
void append_folded(std::string& out, char32_t c, const CaseRun (&runs)[N], const CaseSpecial (&special)[M]) {
  const CaseSpecial* s =
      std::lower_bound(special, special + M, c, [](const CaseSpecial& e, char32_t x) { return e.from < x; });
  if (s != special + M && s->from == c) {
    for (const char32_t to : s->to)
      if (to != 0) append_utf8(out, to);
    return;
  }
  const CaseRun* end = runs + N;
  const CaseRun* it = std::upper_bound(runs, end, c, [](char32_t x, const CaseRun& r) { return x < r.first; });
  if (it != runs) {
    --it;
    if (c <= it->last && (c - it->first) % static_cast<std::uint32_t>(it->stride) == 0)
      c = static_cast<char32_t>(static_cast<std::int32_t>(c) + it->delta);
  }
  append_utf8(out, c);
}

void append_upper(std::string& out, char32_t c) { append_folded(out, c, kUpper, kUpperSpecial); }
void append_title(std::string& out, char32_t c) { append_folded(out, c, kTitle, kTitleSpecial); }

// Sigma at the end of a word (a letter before it and none after) has its own small form.
void append_lower(std::string& out, std::string_view text, std::size_t offset, CodePoint p) {
  if (p.value == kCapitalSigma) {
    const auto letter = [](char32_t c) { return c != kInvalid && is_cased(c); };
    const bool after = offset + p.size < text.size() && letter(decode_at(text, offset + p.size).value);
    std::size_t back = offset;
    while (back > 0 && (static_cast<unsigned char>(text[--back]) & 0xc0) == 0x80) {}
    const bool before = offset > 0 && letter(decode_at(text, back).value);
    append_utf8(out, before && !after ? 0x3c2 : 0x3c3);
    return;
  }
  append_folded(out, p.value, kLower, kLowerSpecial);
}

template <class F>
std::string each(std::string_view text, F&& visit) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint p = decode_at(text, i);
    if (p.value == kInvalid)
      out += text[i];
    else
      visit(out, i, p);
    i += p.size;
  }
  return out;
}

}  // namespace

CodePoint decode_at(std::string_view text, std::size_t offset) {
  const auto byte = [&](std::size_t k) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(text[offset + k]));
  };
  const std::uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::uint32_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || offset + size > text.size()) return {kInvalid, 1};
  std::uint32_t c = lead & (0x7fu >> size);
  for (std::uint32_t k = 1; k < size; ++k) {
    if ((byte(k) & 0xc0) != 0x80) return {kInvalid, 1};
    c = c << 6 | (byte(k) & 0x3f);
  }
  const bool overlong = c < (size == 2 ? 0x80u : size == 3 ? 0x800u : 0x10000u);
  if (overlong || c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) return {kInvalid, 1};
  return {c, size};
}

void append_utf8(std::string& out, char32_t c) {
  const auto put = [&](std::uint32_t byte) { out += static_cast<char>(static_cast<unsigned char>(byte)); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xc0 | c >> 6);
    put(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    put(0xe0 | c >> 12);
    put(0x80 | (c >> 6 & 0x3f));
    put(0x80 | (c & 0x3f));
  } else {
    put(0xf0 | c >> 18);
    put(0x80 | (c >> 12 & 0x3f));
    put(0x80 | (c >> 6 & 0x3f));
    put(0x80 | (c & 0x3f));
  }
}

bool is_ascii(std::string_view text) {
  unsigned char all = 0;
  for (const char c : text) all |= static_cast<unsigned char>(c);
  return all < 0x80;
}

std::size_t count_code_points(std::string_view text) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < text.size(); ++n) i += decode_at(text, i).size;
  return n;
}

std::size_t last_character(std::string_view text) {
  std::size_t back = text.size() - 1;
  while (back > 0 && text.size() - back < 4 && (static_cast<unsigned char>(text[back]) & 0xc0) == 0x80) --back;
  return back + decode_at(text, back).size == text.size() ? back : text.size() - 1;
}

std::size_t offset_of(std::string_view text, std::size_t index) {
  std::size_t i = 0;
  for (; index > 0 && i < text.size(); --index) i += decode_at(text, i).size;
  return i;
}

bool is_space(char32_t c) {
  if (c < 0x80) return (c >= 9 && c <= 13) || (c >= 28 && c <= 32);
  return c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 ||
         c == 0x202f || c == 0x205f || c == 0x3000;
}
bool is_printable(char32_t c) { return c != kInvalid && !in(kNotPrintable, c); }
bool is_alpha(char32_t c) { return in(kAlpha, c); }
bool is_decimal(char32_t c) { return in(kDecimal, c); }
bool is_digit(char32_t c) { return in(kDecimal, c) || in(kDigitOnly, c); }
bool is_numeric(char32_t c) { return is_digit(c) || in(kNumericOnly, c); }
bool is_lower(char32_t c) { return in(kIsLower, c); }
bool is_upper(char32_t c) { return in(kIsUpper, c); }
bool is_title(char32_t c) { return in(kIsTitle, c); }

std::string to_upper(std::string_view text) {
  return each(text, [](std::string& out, std::size_t, CodePoint p) { append_upper(out, p.value); });
}
std::string to_lower(std::string_view text) {
  return each(text, [&](std::string& out, std::size_t i, CodePoint p) { append_lower(out, text, i, p); });
}
std::string to_title(std::string_view text) {
  bool inside = false;
  return each(text, [&](std::string& out, std::size_t i, CodePoint p) {
    if (inside)
      append_lower(out, text, i, p);
    else
      append_title(out, p.value);
    inside = is_cased(p.value);
  });
}
std::string to_capital(std::string_view text) {
  return each(text, [&](std::string& out, std::size_t i, CodePoint p) {
    if (i > 0)
      append_lower(out, text, i, p);
    else
      append_title(out, p.value);
  });
}
std::string swap_case(std::string_view text) {
  return each(text, [&](std::string& out, std::size_t i, CodePoint p) {
    if (is_upper(p.value))
      append_lower(out, text, i, p);
    else if (is_lower(p.value))
      append_upper(out, p.value);
    else
      append_utf8(out, p.value);
  });
}

std::string fold_case(std::string_view text) {
  return each(text,
              [](std::string& out, std::size_t, CodePoint p) { append_folded(out, p.value, kFolded, kFoldedSpecial); });
}

std::string_view strip_left(std::string_view text) {
  while (!text.empty()) {
    const CodePoint p = decode_at(text, 0);
    if (!is_space(p.value)) break;
    text.remove_prefix(p.size);
  }
  return text;
}

std::string_view strip_right(std::string_view text) {
  while (!text.empty()) {
    const std::size_t back = last_character(text);
    if (!is_space(decode_at(text, back).value)) break;
    text = text.substr(0, back);
  }
  return text;
}

}  // namespace loom::jinja
