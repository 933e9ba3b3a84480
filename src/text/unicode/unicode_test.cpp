// Against the Unicode Character Database's own test files, version 15.0 (tokenizer/code_points_test.cpp asks the tokenizers package about every
// code point).

#include <gtest/gtest.h>

#include <cstdio>
#include <sstream>

#include "text/tokenizer/test_data.h"
#include "text/unicode/unicode.h"

namespace loom::text {
namespace {

using fixtures::data_path;
using fixtures::read_file;

std::string utf8_of(const std::string& hex) {
  std::istringstream in(hex);
  std::string out, word;
  while (in >> word) append_utf8(out, static_cast<std::uint32_t>(std::stoul(word, nullptr, 16)));
  return out;
}

// The test file is shipped compressed.
std::string bunzip(const std::string& path) {
  std::string out;
  FILE* pipe = popen(("bzip2 -dc '" + path + "'").c_str(), "r");
  if (!pipe) return out;
  char buffer[65536];
  for (std::size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) out.append(buffer, n);
  pclose(pipe);
  return out;
}

// Rows of Unicode 9.0; of younger characters nothing is decomposed, composed or put in order.
TEST(Unicode, normalization_test_of_unicode_15) {
  std::istringstream lines(bunzip(data_path("text/unicode/NormalizationTest.txt.bz2")));
  int rows = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#' || line[0] == '@') continue;
    std::string c[5];
    std::istringstream fields(line);
    for (auto& f : c) {
      std::getline(fields, f, ';');
      f = utf8_of(f);
    }
    bool young = false;
    for_each_code_point(c[0], [&](std::uint32_t p) { young |= (record(p).flags & kAfterUnicode9) != 0; });
    if (young) {
      if (c[1] == c[0]) {
        EXPECT_EQ(normalize(c[0], Form::Nfc), c[0]) << line;
      }
      continue;
    }
    for (int i = 0; i < 5; ++i) {
      const bool compatible = i >= 3;
      ASSERT_EQ(normalize(c[i], Form::Nfc), c[compatible ? 3 : 1]) << line;
      ASSERT_EQ(normalize(c[i], Form::Nfd), c[compatible ? 4 : 2]) << line;
      ASSERT_EQ(normalize(c[i], Form::Nfkc), c[3]) << line;
      ASSERT_EQ(normalize(c[i], Form::Nfkd), c[4]) << line;
    }
    // In the middle of other text, where the quick check starts late.
    ASSERT_EQ(normalize("ab" + c[0] + "cd", Form::Nfc), "ab" + c[1] + "cd") << line;
    ++rows;
  }
  EXPECT_GT(rows, 18000);
}

TEST(Unicode, nothing_is_known_of_code_points_that_no_version_assigned) {
  EXPECT_EQ(category(0x10FFFF), Category::Cn);
  EXPECT_EQ(category(kInvalidByte + 0xFF), Category::Cn);
  EXPECT_TRUE(is_white_space(0x3000) && is_white_space(0x85) && !is_white_space(0x200B) && !is_white_space(0x180E));
}

TEST(Unicode, grapheme_break_test_of_unicode_15) {
  std::istringstream lines(read_file(data_path("text/unicode/GraphemeBreakTest.txt")));
  int rows = 0;
  for (std::string line; std::getline(lines, line);) {
    line = line.substr(0, line.find('#'));
    std::string text;
    std::vector<std::size_t> cuts;
    std::istringstream words(line);
    for (std::string w; words >> w;) {
      if (w == "\xC3\xB7")
        cuts.push_back(text.size());
      else if (w != "\xC3\x97")
        append_utf8(text, static_cast<std::uint32_t>(std::stoul(w, nullptr, 16)));
    }
    if (text.empty()) continue;
    std::vector<std::size_t> got{0};
    while (got.back() < text.size())
      got.push_back(got.back() + grapheme_length(std::string_view(text).substr(got.back())));
    EXPECT_EQ(got, cuts) << line;
    ++rows;
  }
  EXPECT_GT(rows, 600);
}

TEST(Unicode, invalid_bytes_survive_and_show_as_one_mark_per_maximal_part) {
  struct Row {
    std::string_view bytes, shown;
  };
  // The examples of Unicode 15.0, tables 3-8 to 3-11.
  const Row rows[] = {{"\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41", "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\x41"},
                      {"\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41", "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\x41"},
                      {"\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42", "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\x41\uFFFD\uFFFD\x42"},
                      {"\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41", "\uFFFD\uFFFD\uFFFD\uFFFD\x41"}};
  for (const Row& r : rows) {
    EXPECT_EQ(to_valid_utf8(r.bytes), r.shown);
    for (const Form f : {Form::Nfc, Form::Nfd, Form::Nfkc, Form::Nfkd}) EXPECT_EQ(normalize(r.bytes, f), r.bytes);
    std::string again;
    for_each_code_point(r.bytes, [&](std::uint32_t c) { append_utf8(again, c); });
    EXPECT_EQ(again, r.bytes);
  }
  EXPECT_EQ(incomplete_tail("a\xE1\x80"), 2u);
  EXPECT_EQ(incomplete_tail("a\xE0\x80"), 0u);  // no character starts so
  EXPECT_EQ(incomplete_tail("\xF0\x9F\x99"), 3u);
  EXPECT_EQ(incomplete_tail("\xF0\x9F\x99\x82"), 0u);
  EXPECT_EQ(incomplete_tail("\xF5"), 0u);
}

}  // namespace
}  // namespace loom::text
