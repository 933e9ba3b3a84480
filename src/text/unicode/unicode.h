#pragma once
// Unicode 16.0 properties from one generated table: the same tokens on every platform. Normalisation leaves characters that are younger than
// Unicode 9.0 as they are, like that of the tokenizers package; older text has one normal form in all versions.
// Code points above U+10FFFF (invalid bytes, see utf8.h) are unassigned and pass through unchanged.

#include <cstdint>
#include <string>
#include <string_view>

#include "text/unicode/tables.h"
#include "text/unicode/utf8.h"

namespace loom::text {

// General categories; kCategoryNames has the two letters in this order.
enum class Category : std::uint8_t {
  Lu,
  Ll,
  Lt,
  Lm,
  Lo,
  Mn,
  Mc,
  Me,
  Nd,
  Nl,
  No,
  Pc,
  Pd,
  Ps,
  Pe,
  Pi,
  Pf,
  Po,
  Sm,
  Sc,
  Sk,
  So,
  Zs,
  Zl,
  Zp,
  Cc,
  Cf,
  Cs,
  Co,
  Cn
};
constexpr int kNumCategories = 30;
constexpr const char* kCategoryNames[kNumCategories] = {"Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl",
                                                        "No", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Sm", "Sc",
                                                        "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Co", "Cn"};

using CategoryMask = std::uint32_t;  // bit i: category i
constexpr CategoryMask kLetters = 0x1F, kMarks = 0xE0, kNumbers = 0x700, kPunctuation = 0x3F800, kSymbols = 0x3C0000,
                       kSeparators = 0x1C00000;

// Flags of a record.
constexpr std::uint16_t kWhiteSpace = 1, kAlphabetic = 2, kNotNfc = 4, kNotNfd = 8, kNotNfkc = 16, kNotNfkd = 32,
                        kAfterUnicode8 = 64, kAfterUnicode9 = 128, kUppercase = 256, kLowercase = 512,
                        kLatin1Number = 1024;

// Characters with one index share every property below.
inline std::uint8_t record_index(std::uint32_t c) {
  if (c > kMaxCodePoint) c = 0x10FFFF;  // unassigned
  return tables::kRecordIndex[tables::kPage[c >> 7] * 128u + (c & 127u)];
}
inline const tables::Record& record(std::uint32_t c) { return tables::kRecords[record_index(c)]; }
inline Category category(std::uint32_t c) { return static_cast<Category>(record(c).category); }
inline bool in_category(std::uint32_t c, CategoryMask mask) { return (mask >> record(c).category & 1u) != 0; }
inline bool is_white_space(std::uint32_t c) { return (record(c).flags & kWhiteSpace) != 0; }
inline bool is_numeric(std::uint32_t c) { return in_category(c, kNumbers); }
inline bool is_ascii_punctuation(std::uint32_t c) {
  return (c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) || (c >= 123 && c <= 126);
}
// \w of UTS #18: Alphabetic, M, Nd, Pc, Join_Control.
constexpr CategoryMask kWordCategories = kMarks | 1u << int(Category::Nd) | 1u << int(Category::Pc);
inline bool is_word(const tables::Record& r) {
  return (r.flags & kAlphabetic) != 0 || (kWordCategories >> r.category & 1u) != 0;
}
// \w of Oniguruma: also the six superscripts and fractions of Latin-1.
inline bool is_pattern_word(const tables::Record& r) { return is_word(r) || (r.flags & kLatin1Number) != 0; }
inline bool is_word(std::uint32_t c) { return is_word(record(c)) || c == 0x200C || c == 0x200D; }

// Simple mappings; lower case of U+0130 is two code points in append_lower (SpecialCasing).
std::uint32_t to_lower(std::uint32_t c);
std::uint32_t fold_case(std::uint32_t c);
void append_lower(std::string& out, std::uint32_t c);

enum class Form : std::uint8_t { Nfc, Nfd, Nfkc, Nfkd };
// UAX #15. Invalid bytes are starters that decompose to themselves.
std::string normalize(std::string_view text, Form form);

// Bytes of the first extended grapheme cluster (UAX #29) of a text that is not empty.
std::size_t grapheme_length(std::string_view text);

}  // namespace loom::text
