// The matcher against PCRE2 on the patterns of published tokenizers and on others that use each construct.

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <ctime>

#include "text/regex/regex.h"
#include "text/tokenizer/corpus.h"

namespace loom::text {
namespace {

using Matches = std::vector<std::pair<std::size_t, std::size_t>>;

Result<Matches> ours(const Regex& regex, std::string_view text) {
  RegexMatcher matcher(regex, text);
  Matches out;
  Match m;
  while (true) {
    LOOM_TRY(const bool found, matcher.next(m));
    if (!found) return out;
    if (m.end > m.begin) out.emplace_back(m.begin, m.end);
  }
}

class Oracle {
 public:
  explicit Oracle(const std::string& pattern) {
    int error = 0;
    PCRE2_SIZE offset = 0;
    code_ = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                          PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE, &error, &offset, nullptr);
    EXPECT_NE(code_, nullptr) << pattern << " error " << error << " at " << offset;
    data_ = pcre2_match_data_create_from_pattern(code_, nullptr);
  }
  ~Oracle() {
    pcre2_match_data_free(data_);
    pcre2_code_free(code_);
  }
  Matches all(const std::string& text) const {
    Matches out;
    std::size_t from = 0;
    while (from < text.size() && pcre2_match(code_, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), from,
                                             PCRE2_NOTEMPTY, data_, nullptr) > 0) {
      const PCRE2_SIZE* o = pcre2_get_ovector_pointer(data_);
      out.emplace_back(o[0], o[1]);
      from = o[1];
    }
    return out;
  }

 private:
  pcre2_code* code_ = nullptr;
  pcre2_match_data* data_ = nullptr;
};

const char* const kPatterns[] = {
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| "
    "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
    "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|"
    "'d)?|[^\\r\\n\\p{L}\\p{N}]?["
    "\\p{Lu}\\p{Lt}\\p{Lm}"
    "\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\\p{N}{1,3}| "
    "?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
    "[^\\r\\n\\p{L}\\p{N}]?((?=[\\p{L}])([^a-z]))*((?=[\\p{L}])([^A-Z]))+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*",
    "[\\p{P}\\$\\+<=>\\^~\\|]+",
    "(?:a|ab)(?:c|bcd)*",
    "\\p{Lu}\\p{Ll}*?(?=\\p{Ll})",
    "(?>[\\p{L}_]+)\\s",
    "[a-z]++[a-z0-9]",
    "\\p{L}+?(?!\\p{L})",
    "(?<=\\p{L})\\p{N}|(?<!\\s)\\p{P}",
    "^.{0,3}|.$",
    "(?:\\s|\\p{N}){2,3}?",
    "(x?)*y|(?:a*)*b",
    "\\x{4E00}|[\\x{3040}-\\x{30ff}]+",
    "(?i)hello|(?-i)WORLD",
    "\\P{L}+|\\p{^L}",
    "[^\\S\\n]+",
    "\\d+(?:[.,]\\d+)*",
    "\\Ae|e\\z",
    "(?i:strasxe|[k-t]+)",
    "\\S*[^\\p{L}]"};

TEST(Regex, matches_equal_pcre2) {
  static const fixtures::Corpus corpus;
  for (const std::string pattern : kPatterns) {
    const auto regex = fixtures::value_of(Regex::compile(pattern));
    const Oracle oracle(pattern);
    for (std::size_t i = 0; i < 1500; ++i) {
      const std::string text = corpus.text(i);
      const auto got = ours(regex, text);
      ASSERT_TRUE(got.has_value()) << pattern << ": " << got.error().text();
      ASSERT_EQ(*got, oracle.all(text)) << pattern << " on string " << i << " \"" << text << '"';
    }
  }
}

TEST(Regex, oniguruma_constructs_that_pcre2_lacks) {
  const auto all = [](const char* pattern, std::string_view text) {
    return fixtures::value_of(ours(fixtures::value_of(Regex::compile(pattern)), text));
  };
  EXPECT_EQ(all("[a-z&&[^aeiou]]+", "hello"), (Matches{{0, 1}, {2, 4}}));
  EXPECT_EQ(all("[^a-z&&[^aeiou]]+", "he-llo"), (Matches{{1, 3}, {5, 6}}));
  EXPECT_EQ(all("[[0-9][a-f]]+", "x1fz"), (Matches{{1, 3}}));
  EXPECT_EQ(all("\\h+", "xyz09afg"), (Matches{{3, 7}}));
  EXPECT_EQ(all("(?m:.)+", "a\nb"), (Matches{{0, 3}}));
  EXPECT_EQ(all("\\p{N}{1,2}+", "12345"), (Matches{{0, 5}}));  // a repeated repeat
  EXPECT_EQ(all("a{,2}", "aaa"), (Matches{{0, 2}, {2, 3}}));
  EXPECT_EQ(all("a{x", "a{x"), (Matches{{0, 3}}));
  // Loom's \\w takes marks, which PCRE2 10.42 leaves out.
  EXPECT_EQ(all("\\w+", "ne\u0301_2-\u00BD"), (Matches{{0, 6}, {7, 9}}));
  EXPECT_EQ(all("\\b.", "ab cd"), (Matches{{0, 1}, {2, 3}, {3, 4}}));
  EXPECT_EQ(all("\\B.", "ab cd"), (Matches{{1, 2}, {4, 5}}));
}

TEST(Regex, invalid_bytes_are_characters_of_no_class) {
  const auto regex = fixtures::value_of(Regex::compile("\\p{L}+|[^\\p{L}]"));
  EXPECT_EQ(fixtures::value_of(ours(regex, "a\xFFz\xE4\xBD")), (Matches{{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}}));
}

TEST(Regex, explosive_patterns_are_errors) {
  const std::string text(40, 'a');
  for (const char* pattern : {"(a+)+b", "(a|aa)+$b", "(?:a*)*c", "(a|a|a)*d"}) {
    const auto regex = fixtures::value_of(Regex::compile(pattern));
    const auto got = ours(regex, text);
    ASSERT_TRUE(!got.has_value() || got->empty()) << pattern;
    if (!got) {
      EXPECT_EQ(got.error().code, Code::LimitExceeded);
    }
  }
  EXPECT_FALSE(ours(fixtures::value_of(Regex::compile("(a|aa)+$b")), text).has_value());
}

// Classes of many items, each written in two ways: every code point up to the CJK ideographs and some above.
TEST(Regex, classes_equal_pcre2_for_every_character) {
  std::string text;
  for (std::uint32_t c = 1; c < 0x250; ++c) append_utf8(text, c);
  for (std::uint32_t c = 0x390; c < 0x430; ++c) append_utf8(text, c);
  for (const std::uint32_t c : {0x1E9Eu, 0x1F80u, 0x1F88u, 0x2126u, 0x212Au, 0x212Bu, 0x4DFFu, 0x4E00u, 0x4E01u,
                                0x4E7Fu, 0x5000u, 0x5001u, 0x10FFFFu})
    append_utf8(text, c);
  for (const char* pattern : {"[\\x{4e80}-\\x{5000}\\x{e9}\\x{4e00}-\\x{4eff}a-fc-z\\x{e0}-\\x{e8}]",
                              "[^\\x{e9}-\\x{f0}\\x{ea}\\x{e0}\\x{e1}]", "[\\P{L}\\x{e9}x]", "[^\\P{L}\\x{e9}x\\s]",
                              "[\\S\\x{a0}]", "[^\\x{1}-\\x{10ffff}]", "(?i)[k\\x{e9}]", "(?i)[\\x{212a}\\x{17f}]",
                              "(?i)[^\\x{c5}k-s]", "(?i)[\\x{3a3}-\\x{3a9}]", "(?i)[^\\x{4e00}\\x{1f80}\\x{df}]"}) {
    const std::string one = pattern, run = one + "+";
    for (const std::string& p : {one, run})
      EXPECT_EQ(fixtures::value_of(ours(fixtures::value_of(Regex::compile(p)), text)), Oracle(p).all(text)) << p;
  }
  const std::pair<const char*, const char*> alike[] = {{"[[a\\x{e9}][\\x{e0}-\\x{e5}]]", "[a\\x{e9}\\x{e0}-\\x{e5}]"},
                                                       {"[[^a\\x{e9}]]", "[^a\\x{e9}]"},
                                                       {"[^[\\p{Lu}[\\x{e9}]]&&[^[^\\x{e0}-\\x{ff}]]]", "[^\\x{e9}]"},
                                                       // case counts inside of nested brackets
                                                       {"(?i)[[^[k\\x{e5}]]]", "[\\S\\s]"},
                                                       {"(?i)[[\\x{e9}\\h]&&[^k]]", "(?i)[\\x{e9}0-9a-f]"}};
  for (const auto& [nested, flat] : alike)
    EXPECT_EQ(fixtures::value_of(ours(fixtures::value_of(Regex::compile(nested)), text)), Oracle(flat).all(text))
        << nested;
}

// The budget counts steps: none may take long, however large the class that it asks.
TEST(Regex, large_classes_cost_no_more_than_small_ones) {
  const auto seconds = [](const std::string& set) {
    const auto regex = fixtures::value_of(Regex::compile("(?:" + set + "+,?)+!"));
    std::string text;
    for (int i = 0; i < 40; ++i) text += "\u00E9";
    const std::clock_t start = std::clock();  // processor time: other programs do not count
    const auto got = ours(regex, text);
    EXPECT_FALSE(got);
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  };
  std::string signs, letters, nested;
  for (std::uint32_t c = 0; c < 20000; ++c) append_utf8(signs, 0x4E00 + c);
  for (int i = 0; i < 10000; ++i) letters += "\\p{Lu}";
  for (int i = 0; i < 4000; ++i) nested += "[^\\p{L}\u00E8]";
  const double small = std::max(seconds("[\u00E9]"), 5e-3);
  EXPECT_LT(seconds("[" + signs + "\u00E9]"), 20 * small);
  EXPECT_LT(seconds("(?i:[" + signs + "\u00E9])"), 20 * small);
  EXPECT_LT(seconds("[" + letters + "\u00E9]"), 20 * small);
  EXPECT_LT(seconds("[" + nested + "\u00E9]"), 20 * small);
}

// Each bracket would ask the next one for every other case of a character: 4^60 questions.
TEST(Regex, nested_classes_without_case_are_asked_once) {
  const auto regex =
      fixtures::value_of(Regex::compile("(?i)" + std::string(60, '[') + "\u4E00" + std::string(60, ']')));
  EXPECT_EQ(fixtures::value_of(ours(regex, "k\u212A\u4E00")), (Matches{{4, 7}}));
}

TEST(Regex, bad_patterns_are_refused) {
  for (const char* pattern :
       {"(",         ")",           "[",          "[]",  "[a",      "a**b)", "*",    "+a",   "\\",
        "\\p{",      "\\p{Nope}",   "[z-a]",      "{3}", "a{2000}", "(?",    "(?z)", "(?<n", "\\1",
        "(a)\\k<n>", "\\x{110000}", "[[:nope:]]", "^*",  "\\xg",    "(?i",   "\\p{L"})
    EXPECT_FALSE(Regex::compile(pattern).has_value()) << pattern;
  for (const std::string_view pattern : {"[a&&", "[a&&[", "[a-\\", "[\\", "[[:", "(?", "(?<", "\\x{", "\\p{", "a{1,"}) {
    // No byte follows the last one, so that sanitizers find a read past the end.
    const std::vector<char> exact(pattern.begin(), pattern.end());
    (void)Regex::compile({exact.data(), exact.size()});
  }
  EXPECT_FALSE(Regex::compile("[a&&").has_value());
  EXPECT_FALSE(Regex::compile(std::string(100000, '(')).has_value());
  EXPECT_FALSE(Regex::compile(std::string(200, '[')).has_value());
  std::string nested = "a";
  for (int i = 0; i < 6; ++i) nested = "(?:" + nested + "){1000}";
  const auto huge = Regex::compile(nested);
  ASSERT_FALSE(huge.has_value());
  EXPECT_EQ(huge.error().code, Code::LimitExceeded);
}

TEST(Regex, long_texts_take_linear_time) {
  const auto regex = fixtures::value_of(Regex::compile(kPatterns[1]));
  for (const char* unit : {"a", " ", "\n", "1", "'", "\xE4\xBD\xA0", " \n"}) {
    std::string text;
    while (text.size() < (1u << 20)) text += unit;
    EXPECT_TRUE(ours(regex, text).has_value()) << unit;
  }
}

}  // namespace
}  // namespace loom::text
