#pragma once
// UTF-8 for text that may hold anything. A byte that is part of no valid sequence becomes a code point of its own above
// U+10FFFF, so that it survives every pass unchanged; to_valid_utf8 shows it as U+FFFD.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace loom::text {

constexpr std::uint32_t kMaxCodePoint = 0x10FFFF;
constexpr std::uint32_t kInvalidByte = 0x110000;  // plus the byte
constexpr std::uint32_t kReplacement = 0xFFFD;

struct Decoded {
  std::uint32_t code_point;
  std::uint32_t length;  // bytes, 1..4
};

namespace detail {
// Counts the bytes at `p` that form a prefix of a valid sequence (Unicode 15.0 table 3-7), and whether they complete
// it.
struct Prefix {
  std::uint32_t length;
  bool complete;
};
inline Prefix utf8_prefix(const char* p, const char* end) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(p[i]); };
  const std::uint8_t lead = byte(0);
  if (lead < 0x80) return {1, true};
  const std::uint32_t need = lead >= 0xC2 && lead <= 0xDF   ? 2
                             : (lead & 0xF0) == 0xE0        ? 3
                             : lead >= 0xF0 && lead <= 0xF4 ? 4
                                                            : 0;
  if (need == 0) return {1, false};
  const auto left = static_cast<std::size_t>(end - p);
  std::uint8_t low = 0x80, high = 0xBF;
  if (lead == 0xE0) low = 0xA0;
  if (lead == 0xED) high = 0x9F;
  if (lead == 0xF0) low = 0x90;
  if (lead == 0xF4) high = 0x8F;
  for (std::uint32_t i = 1; i < need; ++i, low = 0x80, high = 0xBF)
    if (i >= left || byte(i) < low || byte(i) > high) return {i, false};
  return {need, true};
}
}  // namespace detail

// p < end.
inline Decoded decode_utf8(const char* p, const char* end) {
  const auto lead = static_cast<std::uint8_t>(*p);
  if (lead < 0x80) return {lead, 1};
  const auto prefix = detail::utf8_prefix(p, end);
  if (!prefix.complete) return {kInvalidByte + lead, 1};
  std::uint32_t c = lead & (0x7Fu >> prefix.length);
  for (std::uint32_t i = 1; i < prefix.length; ++i) c = c << 6 | (static_cast<std::uint8_t>(p[i]) & 0x3Fu);
  return {c, prefix.length};
}

// The code point that ends just before `p`; begin < p.
inline Decoded decode_utf8_before(const char* begin, const char* p) {
  for (std::ptrdiff_t back = 1; back <= 4 && back <= p - begin; ++back) {
    if ((static_cast<std::uint8_t>(p[-back]) & 0xC0) == 0x80) continue;
    const Decoded d = decode_utf8(p - back, p);
    if (d.length == static_cast<std::uint32_t>(back)) return d;
    break;
  }
  return {kInvalidByte + static_cast<std::uint8_t>(p[-1]), 1};
}

inline void append_utf8(std::string& out, std::uint32_t c) {
  const auto put = [&](std::uint32_t b) { out.push_back(static_cast<char>(b)); };
  if (c < 0x80) return put(c);
  if (c < 0x800) return put(0xC0 | c >> 6), put(0x80 | (c & 0x3F));
  if (c < 0x10000) return put(0xE0 | c >> 12), put(0x80 | (c >> 6 & 0x3F)), put(0x80 | (c & 0x3F));
  if (c <= kMaxCodePoint)
    return put(0xF0 | c >> 18), put(0x80 | (c >> 12 & 0x3F)), put(0x80 | (c >> 6 & 0x3F)), put(0x80 | (c & 0x3F));
  put(c & 0xFF);  // kInvalidByte + byte: the byte itself
}

// Calls f(code_point) for each code point of `text`.
template <class F>
void for_each_code_point(std::string_view text, F&& f) {
  const char *p = text.data(), *const end = p + text.size();
  while (p < end) {
    const Decoded d = decode_utf8(p, end);
    f(d.code_point);
    p += d.length;
  }
}

// `text` with each maximal invalid part (Unicode 15.0, 3.9) shown as one U+FFFD.
std::string to_valid_utf8(std::string_view text);
// Bytes at the end of `text` that a later byte could still complete to one code point: 0..3.
std::size_t incomplete_tail(std::string_view text);

inline bool is_one_character(std::string_view text) {
  return !text.empty() && decode_utf8(text.data(), text.data() + text.size()).length == text.size();
}

}  // namespace loom::text
