// The filter wordwrap: every line of a text wrapped as Python's textwrap does it.

#include <algorithm>

#include "text/template/interpreter.h"
#include "text/template/unicode.h"

namespace loom::jinja {
namespace {

// textwrap's white space; other blanks of Unicode are parts of words, and yet dropped at the ends of lines when they
// stand alone.
bool is_gap(char32_t c) { return c == ' ' || (c >= 9 && c <= 13); }
bool is_word_char(char32_t c) { return c == '_' || is_alpha(c) || is_numeric(c); }
bool is_letter(char32_t c) { return is_word_char(c) && !is_decimal(c); }
bool joins_dash(char32_t c) {
  return is_word_char(c) ||
         (c < 0x80 && std::string_view("!\"'&.,?").find(static_cast<char>(c)) != std::string_view::npos);
}

struct WrapOptions {
  std::size_t width = 79;
  bool break_long_words = true;
  bool split_at_hyphens = true;  // textwrap tests `is True`
  bool break_at_hyphens = true;  // textwrap takes any true value
};

struct Chunk {
  std::size_t begin, end;
};

class Wrapper {
 public:
  Wrapper(std::string_view line, const WrapOptions& options) : line_(line), options_(options) {
    for (std::size_t i = 0; i < line.size();) {
      const CodePoint p = decode_at(line, i);
      points_.push_back(p.value);
      offsets_.push_back(i);
      i += p.size;
    }
    offsets_.push_back(line.size());
  }

  // Calls add(text) for every line.
  template <class Add>
  void run(Add&& add) {
    split();
    std::vector<Chunk> current;
    bool first = true;
    for (std::size_t next = 0; next < chunks_.size();) {
      current.clear();
      std::size_t length = 0;
      if (!first && is_blank(chunks_[next])) ++next;
      while (next < chunks_.size() && length + size(chunks_[next]) <= options_.width) {
        length += size(chunks_[next]);
        current.push_back(chunks_[next++]);
      }
      if (next < chunks_.size() && size(chunks_[next]) > options_.width)
        break_word(chunks_[next], next, current, length);
      if (!current.empty() && is_blank(current.back())) current.pop_back();
      if (current.empty()) continue;
      add(line_.substr(offsets_[current.front().begin],
                       offsets_[current.back().end] - offsets_[current.front().begin]));
      first = false;
    }
  }

 private:
  static std::size_t size(Chunk c) { return c.end - c.begin; }
  bool is_blank(Chunk c) const {
    return std::all_of(points_.begin() + static_cast<std::ptrdiff_t>(c.begin),
                       points_.begin() + static_cast<std::ptrdiff_t>(c.end), is_space);
  }
  bool letter(std::size_t i) const { return i < points_.size() && is_letter(points_[i]); }
  bool hyphen(std::size_t i) const { return i < points_.size() && points_[i] == '-'; }

  // End of two or more hyphens between a word and a word: a dash. `i` itself when there is none.
  std::size_t dash_at(std::size_t i) const {
    if (i == 0 || !hyphen(i) || !joins_dash(points_[i - 1])) return i;
    std::size_t end = i;
    while (hyphen(end)) ++end;
    return end - i >= 2 && end < points_.size() && is_word_char(points_[end]) ? end : i;
  }
  // Returns whether a word may end after the hyphen at `i`: two letters, or a letter, a hyphen and a letter, before
  // it, and two letters after it.
  bool breaks_behind(std::size_t i) const {
    const bool before = i >= 2 && letter(i - 1) && (letter(i - 2) || (i >= 3 && hyphen(i - 2) && letter(i - 3)));
    return before && hyphen(i) && letter(i + 1) && letter(hyphen(i + 2) ? i + 3 : i + 2);
  }
  std::size_t end_of_word(std::size_t i) const {
    if (options_.split_at_hyphens) {
      if (const std::size_t dash = dash_at(i); dash != i) return dash;
    }
    for (++i; i < points_.size() && !is_gap(points_[i]); ++i) {
      if (!options_.split_at_hyphens) continue;
      if (breaks_behind(i)) return i + 1;
      if (dash_at(i) != i) break;
    }
    return i;
  }
  void split() {
    for (std::size_t i = 0; i < points_.size();) {
      std::size_t end = i;
      if (is_gap(points_[i]))
        while (end < points_.size() && is_gap(points_[end])) ++end;
      else
        end = end_of_word(i);
      chunks_.push_back({i, end});
      i = end;
    }
  }

  // A word that fits on no line: as much of it as there is room for, or all of it on a line of its own.
  void break_word(Chunk& word, std::size_t& next, std::vector<Chunk>& current, std::size_t length) const {
    if (!options_.break_long_words) {
      if (current.empty()) current.push_back(chunks_[next++]);
      return;
    }
    const std::size_t room = options_.width - length;
    std::size_t end = word.begin + room;
    if (options_.break_at_hyphens) {
      std::size_t at = end;
      while (at > word.begin && points_[at - 1] != '-') --at;  // to after the last hyphen
      std::size_t plain = word.begin;
      while (plain < at && points_[plain] == '-') ++plain;
      if (at > word.begin + 1 && plain < at - 1) end = at;
    }
    current.push_back({word.begin, end});
    word.begin = end;
  }

  std::string_view line_;
  const WrapOptions& options_;
  std::vector<char32_t> points_;
  std::vector<std::size_t> offsets_;  // of each code point, and the end
  std::vector<Chunk> chunks_;
};

}  // namespace

Result<Value> filter_wordwrap(Machine& m, const Value& v, const Arguments& args) {
  LOOM_TRY(const auto a, args.bind("wordwrap", {"width", "break_long_words", "wrapstring", "break_on_hyphens"}));
  if (v.undefined()) return undefined_error(v);
  if (!v.is(Kind::String)) return fail(Code::TemplateError, "'{}' object has no attribute 'splitlines'", type_name(v));
  WrapOptions options;
  std::int64_t width = 79;
  if (!a[0].missing()) {
    if (!a[0].integral())
      return fail(Code::TemplateError, "wordwrap: the width is a '{}', expected an integer", type_name(a[0]));
    width = a[0].i();
  }
  options.break_long_words = a[1].missing() || truthy(a[1]);
  options.split_at_hyphens = a[3].missing() || (a[3].is(Kind::Bool) && a[3].b());
  options.break_at_hyphens = a[3].missing() || truthy(a[3]);
  std::string between = "\n";
  if (!a[2].missing() && !a[2].is(Kind::None)) {
    if (!a[2].is(Kind::String) || a[2].text().markup)
      return fail(a[2].is(Kind::String) ? Code::Unsupported : Code::TemplateError,
                  "wordwrap: wrapstring must be a plain text");
    between = std::string(a[2].s());
  }
  LOOM_TRY(const Value lines, find_method(v, "splitlines")->run(m, v, {}));
  if (width <= 0 && !lines.items().empty()) return fail(Code::TemplateError, "invalid width {} (must be > 0)", width);
  options.width = static_cast<std::size_t>(width);
  TextBuilder out(m.heap);
  bool first_line = true;
  for (const Value& line : lines.items()) {
    LOOM_TRY_VOID(m.heap.reserve(line.s().size() * 32));
    LOOM_TRY_VOID(m.heap.decode(line.s().size() * 4));
    if (!first_line) out.add(between);
    first_line = false;
    bool first = true;
    Wrapper(line.s(), options).run([&](std::string_view text) {
      if (!first) out.add(between);
      first = false;
      out.add(text);
    });
  }
  LOOM_TRY(std::string all, out.finish());
  return m.string(std::move(all));
}

}  // namespace loom::jinja
