// Every code point gives the same result as in the tokenizers package: tests/golden/tokenizers/code_points.tsv, made by
// tools/golden/code_points.py.

#include <sstream>

#include "core/json.h"
#include "support/paths.h"
#include "text/regex/regex.h"
#include "text/tokenizer/pre_tokenizer.h"
#include "text/tokenizer/test_data.h"
#include "text/unicode/unicode.h"

namespace loom::text {
namespace {

using namespace fixtures;

// A row of the table: how many code points (or runs of them) show something, and a hash of what.
struct PointRow {
  std::size_t count = 0;
  std::uint64_t hash = 0xCBF29CE484222325u;

  void add(std::string_view bytes) {
    for (const char b : bytes) hash = (hash ^ static_cast<std::uint8_t>(b)) * 0x100000001B3u;
  }
  void add(std::uint32_t n) {
    for (int k = 0; k < 4; ++k) add(std::string_view(std::string(1, static_cast<char>(n >> (8 * k)))));
  }
};

template <class F>
void for_assigned(F&& f) {
  for (std::uint32_t c = 0; c <= kMaxCodePoint; ++c)
    if ((c < 0xD800 || c >= 0xE000) && category(c) != Category::Cn) f(c);
}

PointRow pattern_row(const std::string& pattern) {
  const auto regex = value_of(Regex::compile(pattern));
  PointRow row;
  std::uint32_t first = 0, last = 0;
  bool any = false;
  const auto close = [&] {
    if (!any) return;
    row.add(first);
    row.add(last);
    ++row.count;
  };
  std::string text;
  const auto flush = [&] {
    RegexMatcher matcher(regex, text);
    for (Match m; value_of(matcher.next(m));) {
      const std::uint32_t c = decode_utf8(text.data() + m.begin, text.data() + m.end).code_point;
      if (!any || c != last + 1) {
        close();
        first = c;
      }
      last = c;
      any = true;
    }
    text.clear();
  };
  for (std::uint32_t c = 0; c <= kMaxCodePoint; ++c) {
    if (c >= 0xD800 && c < 0xE000) continue;
    append_utf8(text, c);
    if (text.size() > 4096) flush();
  }
  flush();
  close();
  return row;
}

PointRow normalizer_row(const Json& name) {
  const auto step = value_of(Normalizer::from_json(name[0]));
  PointRow row;
  for_assigned([&](std::uint32_t c) {
    std::string text = *as_string(name[1]);
    append_utf8(text, c);
    text += *as_string(name[2]);
    std::string out = text;
    EXPECT_TRUE(step->apply(out).has_value());
    if (out == text) return;
    row.add(c);
    row.add(out + "\xFF");
    ++row.count;
  });
  return row;
}

PointRow pieces_row(const Json& spec) {
  std::vector<PreTokenizerPtr> steps;
  EXPECT_TRUE(pre_tokenizers_from_json(spec, steps, nullptr).has_value());
  PointRow row;
  Words words;
  for_assigned([&](std::uint32_t c) {
    std::string text = "a";
    append_utf8(text, c);
    text += 'a';
    words.text = text;
    words.spans.assign(1, {0, text.size()});
    for (const auto& s : steps) EXPECT_TRUE(s->apply(words).has_value());
    if (words.spans.size() == 1) return;
    row.add(c);
    row.add(static_cast<std::uint32_t>(words.spans.size()));
    ++row.count;
  });
  return row;
}

PointRow scripts_row(const Json& prefix) {
  std::vector<std::uint32_t> assigned;
  for_assigned([&](std::uint32_t c) { assigned.push_back(c); });
  const PreTokenizerPtr step = make_unicode_scripts();
  PointRow row;
  Words words;
  constexpr std::size_t kChunk = 4096;
  for (std::size_t from = 0; from < assigned.size(); from += kChunk) {
    std::string text;
    for (std::size_t i = from; i < std::min(from + kChunk, assigned.size()); ++i)
      append_utf8(text += *as_string(prefix), assigned[i]);
    words.text = text;
    words.spans.assign(1, {0, text.size()});
    EXPECT_TRUE(step->apply(words).has_value());
    for (const Span& s : words.spans) {
      std::uint32_t first = 0, count = 0;
      for_each_code_point(words.text.substr(s.begin, s.end - s.begin), [&](std::uint32_t c) {
        if (count++ == 0) first = c;
      });
      row.add(first);
      row.add(count);
      ++row.count;
    }
  }
  return row;
}

PointRow ids_row(const std::string& name) {
  const auto tokenizer = value_of(Tokenizer::from_json(read_file(data_path("tokenizers/" + name + "/tokenizer.json"))));
  PointRow row;
  for_assigned([&](std::uint32_t c) {
    std::string text = " ";
    append_utf8(text, c);
    for (const std::int32_t id : encode(tokenizer, text + "a\u0301" + "1", false))
      row.add(static_cast<std::uint32_t>(id));
    ++row.count;
  });
  return row;
}

TEST(CodePoints, every_one_is_treated_as_the_tokenizers_package_treats_it) {
  std::istringstream lines(read_file(test::source_path("tests/golden/tokenizers/code_points.tsv")));
  int rows = 0;
  for (std::string line; std::getline(lines, line); ++rows) {
    const std::size_t first = line.find('\t'), second = line.find('\t', first + 1);
    const std::string kind = line.substr(0, first), name = line.substr(first + 1, second - first - 1);
    const PointRow row = kind == "pattern"      ? pattern_row(name)
                         : kind == "normalizer" ? normalizer_row(value_of(parse_json(name)))
                         : kind == "pieces"     ? pieces_row(value_of(parse_json(name)))
                         : kind == "scripts"    ? scripts_row(value_of(parse_json(name)))
                                                : ids_row(name);
    EXPECT_EQ(fmt::format("{}\t{}\t{}\t{:016x}", kind, name, row.count, row.hash), line);
  }
  EXPECT_GT(rows, 70);
}

}  // namespace
}  // namespace loom::text
