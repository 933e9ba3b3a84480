// Methods of str.

#include <algorithm>

#include "text/template/interpreter.h"
#include "text/template/unicode.h"
#include "text/unicode/text_search.h"

namespace loom::jinja {
namespace {

Value like(Machine& m, const Value& self, std::string text) { return m.string(std::move(text), self.text().markup); }

Result<std::string_view> text_argument(const Value& v, std::string_view method) {
  if (!v.is(Kind::String)) return fail(Code::TemplateError, "{}: expected a str, got '{}'", method, type_name(v));
  return v.s();
}
Result<std::int64_t> int_argument(const Value& v, std::int64_t standard, std::string_view method) {
  if (v.missing() || v.is(Kind::None)) return standard;
  if (!v.integral())
    return fail(Code::TemplateError, "{}: '{}' object cannot be interpreted as an integer", method, type_name(v));
  return v.i();
}

template <std::string (*Change)(std::string_view)>
Result<Value> changed_self(Machine& m, const Value& self, const Arguments& a) {
  LOOM_TRY_VOID(a.none("the method"));
  LOOM_TRY_VOID(m.heap.reserve(self.s().size() * 3));
  return like(m, self, Change(self.s()));
}

// ---- strip

std::string_view strip_set(std::string_view text, std::string_view set, bool left, bool right) {
  std::vector<std::string_view> characters;
  for (std::size_t i = 0; i < set.size(); i += characters.back().size())
    characters.push_back(set.substr(i, decode_at(set, i).size));
  std::sort(characters.begin(), characters.end());
  const auto in = [&](std::string_view c) { return std::binary_search(characters.begin(), characters.end(), c); };
  while (left && !text.empty()) {
    const std::size_t n = decode_at(text, 0).size;
    if (!in(text.substr(0, n))) break;
    text.remove_prefix(n);
  }
  while (right && !text.empty()) {
    const std::size_t back = last_character(text);
    if (!in(text.substr(back))) break;
    text = text.substr(0, back);
  }
  return text;
}

template <bool Left, bool Right>
Result<Value> strip(Machine& m, const Value& self, const Arguments& args) {
  LOOM_TRY(const auto a, args.bind("strip", {"chars"}));
  LOOM_TRY_VOID(m.heap.decode(self.s().size()));
  std::string_view text = self.s();
  if (a[0].missing() || a[0].is(Kind::None)) {
    if (Left) text = strip_left(text);
    if (Right) text = strip_right(text);
  } else {
    LOOM_TRY(const std::string_view set, text_argument(a[0], "strip"));
    LOOM_TRY_VOID(m.heap.reserve(set.size() * sizeof(std::string_view)));
    text = strip_set(text, set, Left, Right);
  }
  return text.size() == self.s().size() ? self : like(m, self, std::string(text));
}

template <bool Prefix>
Result<Value> remove_affix(Machine& m, const Value& self, const Arguments& args) {
  LOOM_TRY(const auto a, args.bind("removeprefix", {"affix"}, 1));
  LOOM_TRY(const std::string_view affix, text_argument(a[0], "removeprefix"));
  const std::string_view text = self.s();
  LOOM_TRY_VOID(m.heap.scan(std::min(text.size(), affix.size())));
  if (Prefix ? !text.starts_with(affix) : !text.ends_with(affix)) return self;
  return like(m, self, std::string(Prefix ? text.substr(affix.size()) : text.substr(0, text.size() - affix.size())));
}

// ---- split and join

Result<Value> pieces(Machine& m, const Value& self, const std::vector<std::string_view>& parts,
                     Kind kind = Kind::List) {
  LOOM_TRY_VOID(m.heap.reserve(parts.size() * (sizeof(Value) + sizeof(StringObject)) + self.s().size()));
  std::vector<Value> out;
  out.reserve(parts.size());
  for (const std::string_view part : parts) out.push_back(like(m, self, std::string(part)));
  return make_sequence(m.heap, kind, std::move(out));
}

using Parts = std::vector<std::string_view>;

// Caps the number of pieces at what the heap can hold: pieces() refuses more, and merely listing them could take
// gigabytes.
std::int64_t limited(const Machine& m, std::int64_t most) {
  const auto fit = static_cast<std::int64_t>(m.heap.room() / (sizeof(Value) + sizeof(StringObject)) + 1);
  return most < 0 ? fit : std::min(most, fit);
}

bool enough(const Parts& parts, std::int64_t most) {
  return most >= 0 && static_cast<std::int64_t>(parts.size()) >= most;
}

Parts split_space(std::string_view text, std::int64_t most) {
  Parts out;
  text = strip_left(text);
  while (!text.empty() && !enough(out, most)) {
    std::size_t end = 0;
    while (end < text.size() && !is_space(decode_at(text, end).value)) end += decode_at(text, end).size;
    out.push_back(text.substr(0, end));
    text = strip_left(text.substr(end));
  }
  if (!text.empty()) out.push_back(text);
  return out;
}

// Each part is sought from the right: a pass from the left for each would make a square of the text.
Parts split_space_right(std::string_view text, std::int64_t most) {
  Parts out;
  text = strip_right(text);
  while (!text.empty() && !enough(out, most)) {
    std::size_t begin = text.size();
    while (begin > 0) {
      const std::size_t last = last_character(text.substr(0, begin));
      if (is_space(decode_at(text, last).value)) break;
      begin = last;
    }
    out.push_back(text.substr(begin));
    text = strip_right(text.substr(0, begin));
  }
  if (!text.empty()) out.push_back(text);
  std::reverse(out.begin(), out.end());
  return out;
}

Parts split_at(std::string_view text, std::string_view separator, std::int64_t most) {
  Parts out;
  text::Finder finder(separator);
  std::size_t begin = 0;
  while (!enough(out, most)) {
    const std::size_t at = finder.find(text, begin);
    if (at == std::string_view::npos) break;
    out.push_back(text.substr(begin, at - begin));
    begin = at + separator.size();
  }
  out.push_back(text.substr(begin));
  return out;
}

// Searches the reversed text, since matches that overlap are taken from the right.
Parts split_at_right(std::string_view text, std::string_view separator, std::int64_t most) {
  const std::string reversed(text.rbegin(), text.rend()), mark(separator.rbegin(), separator.rend());
  Parts out = split_at(reversed, mark, most);
  std::size_t end = text.size();
  for (std::string_view& part : out) {
    part = text.substr(end - part.size(), part.size());
    end -= std::min(end, part.size() + separator.size());
  }
  std::reverse(out.begin(), out.end());
  return out;
}

template <bool Right>
Result<Value> split(Machine& m, const Value& self, const Arguments& args) {
  LOOM_TRY(const auto a, args.bind("split", {"sep", "maxsplit"}));
  LOOM_TRY(std::int64_t most, int_argument(a[1], -1, "split"));
  LOOM_TRY_VOID(m.heap.decode(self.s().size()));
  most = limited(m, most);
  if (a[0].missing() || a[0].is(Kind::None))
    return pieces(m, self, (Right ? split_space_right : split_space)(self.s(), most));
  LOOM_TRY(const std::string_view separator, text_argument(a[0], "split"));
  if (separator.empty()) return fail(Code::TemplateError, "empty separator");
  LOOM_TRY_VOID(m.heap.scan(separator.size()));
  return pieces(m, self, (Right ? split_at_right : split_at)(self.s(), separator, most));
}

template <bool Right>
Result<Value> partition(Machine& m, const Value& self, const Arguments& args) {
  LOOM_TRY(const auto a, args.bind("partition", {"sep"}, 1));
  LOOM_TRY(const std::string_view separator, text_argument(a[0], "partition"));
  if (separator.empty()) return fail(Code::TemplateError, "empty separator");
  const std::string_view text = self.s();
  LOOM_TRY_VOID(m.heap.scan(text.size() + separator.size()));
  const std::size_t at = Right ? text::find_last(text, separator) : text::Finder(separator).find(text);
  if (at == std::string_view::npos)
    return Right ? pieces(m, self, {"", "", text}, Kind::Tuple) : pieces(m, self, {text, "", ""}, Kind::Tuple);
  return pieces(m, self, {text.substr(0, at), separator, text.substr(at + separator.size())}, Kind::Tuple);
}

Result<Value> splitlines(Machine& m, const Value& self, const Arguments& args) {
  LOOM_TRY(const auto a, args.bind("splitlines", {"keepends"}));
  const bool keep = truthy(a[0]);
  Parts out;
  const std::int64_t most = limited(m, -1);
  std::string_view text = self.s();
  std::size_t start = 0;
  LOOM_TRY_VOID(m.heap.decode(text.size()));
  for (std::size_t i = 0; i < text.size() && !enough(out, most);) {
    const CodePoint p = decode_at(text, i);
    const bool ends = (p.value >= 10 && p.value <= 13) || (p.value >= 0x1c && p.value <= 0x1e) || p.value == 0x85 ||
                      p.value == 0x2028 || p.value == 0x2029;
    std::size_t next = i + p.size;
    if (ends) {
      if (p.value == '\r' && next < text.size() && text[next] == '\n') ++next;
      out.push_back(text.substr(start, (keep ? next : i) - start));
      start = next;
    }
    i = next;
  }
  if (start < text.size()) out.push_back(text.substr(start));
  return pieces(m, self, out);
}

Result<Value> join(Machine& m, const Value& self, const Arguments& args) {
  LOOM_TRY(const auto a, args.bind("join", {"iterable"}, 1));
  LOOM_TRY(const auto items, to_list(m.heap, a[0]));
  TextBuilder out(m.heap);
  for (std::size_t k = 0; k < items.size(); ++k) {
    if (!items[k].is(Kind::String))
      return fail(Code::TemplateError, "sequence item {}: expected str instance, {} found", k, type_name(items[k]));
    if (k > 0) out.add(self.s());
    out.add(self.text().markup && !items[k].text().markup ? escape_html(items[k].s()) : std::string(items[k].s()));
  }
  LOOM_TRY(std::string text, out.finish());
  return like(m, self, std::move(text));
}

// ---- search and replace

Result<Value> replace(Machine& m, const Value& self, const Arguments& args) {
  LOOM_TRY(const auto a, args.bind("replace", {"old", "new", "count"}, 2));
  LOOM_TRY(const std::string_view old, text_argument(a[0], "replace"));
  LOOM_TRY(const std::string_view fresh, text_argument(a[1], "replace"));
  LOOM_TRY(std::int64_t count, int_argument(a[2], -1, "replace"));
  if (count < 0) count = INT64_MAX;
  const bool escape = self.text().markup && !a[1].text().markup;
  LOOM_TRY_VOID(m.heap.reserve(fresh.size() * (escape ? 5 : 1)));
  const std::string safe = escape ? escape_html(fresh) : std::string(fresh);
  const std::string_view text = self.s();
  LOOM_TRY_VOID(m.heap.decode(text.size() + old.size()));
  TextBuilder out(m.heap);
  std::size_t i = 0;
  if (old.empty()) {  // between all characters
    for (; count > 0 && !out.full(); --count) {
      out.add(safe);
      if (i >= text.size()) break;
      const std::size_t n = decode_at(text, i).size;
      out.add(text.substr(i, n));
      i += n;
    }
  } else {
    text::Finder finder(old);
    for (; count > 0 && !out.full(); --count) {
      const std::size_t next = finder.find(text, i);
      if (next == std::string_view::npos) break;
      out.add(text.substr(i, next - i));
      out.add(safe);
      i = next + old.size();
    }
  }
  if (i < text.size()) out.add(text.substr(i));
  LOOM_TRY(std::string all, out.finish());
  return like(m, self, std::move(all));
}

// The part of self that (start, end) name, and where it begins in bytes.
struct Window {
  std::string_view text;
  std::int64_t start = 0;
  bool outside = false;
};
Result<Window> window(Machine& m, const Value& self, const Value& from, const Value& to) {
  LOOM_TRY(const std::int64_t length, length_of(self));
  LOOM_TRY(std::int64_t start, int_argument(from, 0, "start"));
  LOOM_TRY(std::int64_t end, int_argument(to, length, "end"));
  LOOM_TRY_VOID(m.heap.decode(self.s().size()));
  const auto place = [&](std::int64_t k) {
    return k < 0 ? std::max<std::int64_t>(k < -length ? 0 : k + length, 0) : k;
  };
  start = place(start);
  end = std::min(place(end), length);
  Window w;
  w.start = start;
  w.outside = start > end;
  if (w.outside) return w;
  const std::size_t a = offset_of(self.s(), static_cast<std::size_t>(start));
  w.text = self.s().substr(a);
  w.text = w.text.substr(0, offset_of(w.text, static_cast<std::size_t>(end - start)));
  return w;
}

template <bool Right, bool Raise>
Result<Value> find(Machine& m, const Value& self, const Arguments& args) {
  LOOM_TRY(const auto a, args.bind("find", {"sub", "start", "end"}, 1));
  LOOM_TRY(const std::string_view sub, text_argument(a[0], "find"));
  LOOM_TRY(const Window w, window(m, self, a[1], a[2]));
  LOOM_TRY_VOID(m.heap.scan(sub.size() > w.text.size() ? 0 : sub.size()));
  const std::size_t at = w.outside ? std::string_view::npos
                         : Right   ? text::find_last(w.text, sub)
                                   : text::Finder(sub).find(w.text);
  if (at != std::string_view::npos)
    return Value::integer(w.start + static_cast<std::int64_t>(count_code_points(w.text.substr(0, at))));
  if (Raise) return fail(Code::TemplateError, "substring not found");
  return Value::integer(-1);
}

Result<Value> count(Machine& m, const Value& self, const Arguments& args) {
  LOOM_TRY(const auto a, args.bind("count", {"sub", "start", "end"}, 1));
  LOOM_TRY(const std::string_view sub, text_argument(a[0], "count"));
  LOOM_TRY(const Window w, window(m, self, a[1], a[2]));
  if (w.outside) return Value::integer(0);
  if (sub.empty()) return Value::integer(static_cast<std::int64_t>(count_code_points(w.text)) + 1);
  LOOM_TRY_VOID(m.heap.scan(sub.size() > w.text.size() ? 0 : sub.size()));
  std::int64_t n = 0;
  text::Finder finder(sub);
  for (std::size_t i = finder.find(w.text); i != std::string_view::npos; i = finder.find(w.text, i + sub.size())) ++n;
  return Value::integer(n);
}

template <bool Start>
Result<Value> affix(Machine& m, const Value& self, const Arguments& args) {
  LOOM_TRY(const auto a, args.bind(Start ? "startswith" : "endswith", {"affix", "start", "end"}, 1));
  LOOM_TRY(const Window w, window(m, self, a[1], a[2]));
  std::vector<Value> choices{a[0]};
  if (a[0].is(Kind::Tuple)) choices = a[0].items();
  for (const Value& choice : choices) {
    LOOM_TRY(const std::string_view part, text_argument(choice, Start ? "startswith first arg" : "endswith first arg"));
    LOOM_TRY_VOID(m.heap.tick(1 + std::min(part.size(), w.text.size()) / 64));
    if (!w.outside && (Start ? w.text.starts_with(part) : w.text.ends_with(part))) return Value::boolean(true);
  }
  return Value::boolean(false);
}

// ---- padding

template <char Align>
Result<Value> justify(Machine& m, const Value& self, const Arguments& args) {
  LOOM_TRY(const auto a, args.bind("justify", {"width", "fillchar"}, 1));
  LOOM_TRY(const std::int64_t width, int_argument(a[0], 0, "width"));
  std::string_view fill = " ";
  if (!a[1].missing()) {
    LOOM_TRY(fill, text_argument(a[1], "fillchar"));
  }
  if (fill.size() > 4 || count_code_points(fill) != 1)
    return fail(Code::TemplateError, "The fill character must be exactly one character long");
  LOOM_TRY(const std::int64_t length, length_of(self));
  if (width <= length) return self;
  const std::int64_t room = width - length;
  // str.center puts the odd blank left when the width is odd.
  const std::int64_t left = Align == '<' ? 0 : Align == '>' ? room : room / 2 + (room & width & 1);
  TextBuilder out(m.heap);
  out.fill(static_cast<std::size_t>(left), fill);
  out.add(self.s());
  out.fill(static_cast<std::size_t>(room - left), fill);
  LOOM_TRY(std::string text, out.finish());
  return like(m, self, std::move(text));
}

Result<Value> zfill(Machine& m, const Value& self, const Arguments& args) {
  LOOM_TRY(const auto a, args.bind("zfill", {"width"}, 1));
  LOOM_TRY(const std::int64_t width, int_argument(a[0], 0, "zfill"));
  LOOM_TRY(const std::int64_t length, length_of(self));
  if (width <= length) return self;
  const std::size_t sign = !self.s().empty() && (self.s()[0] == '-' || self.s()[0] == '+') ? 1 : 0;
  TextBuilder out(m.heap);
  out.add(self.s().substr(0, sign));
  out.fill(static_cast<std::size_t>(width - length), "0");
  out.add(self.s().substr(sign));
  LOOM_TRY(std::string text, out.finish());
  return like(m, self, std::move(text));
}

Result<Value> expandtabs(Machine& m, const Value& self, const Arguments& args) {
  LOOM_TRY(const auto a, args.bind("expandtabs", {"tabsize"}));
  LOOM_TRY(const std::int64_t size, int_argument(a[0], 8, "expandtabs"));
  TextBuilder out(m.heap);
  std::int64_t column = 0;
  const std::string_view text = self.s();
  LOOM_TRY_VOID(m.heap.decode(text.size()));
  for (std::size_t i = 0; i < text.size() && !out.full();) {
    const std::size_t n = decode_at(text, i).size;
    if (text[i] == '\t') {
      const std::int64_t blanks = size > 0 ? size - column % size : 0;
      out.fill(static_cast<std::size_t>(blanks), " ");
      column += blanks;
    } else {
      out.add(text.substr(i, n));
      column = text[i] == '\n' || text[i] == '\r' ? 0 : column + 1;
    }
    i += n;
  }
  LOOM_TRY(std::string all, out.finish());
  return like(m, self, std::move(all));
}

// ---- questions

template <bool (*Is)(char32_t), bool EmptyHolds = false>
Result<Value> every(Machine& m, const Value& self, const Arguments& a) {
  LOOM_TRY_VOID(a.none("the method"));
  const std::string_view text = self.s();
  LOOM_TRY_VOID(m.heap.decode(text.size()));
  for (std::size_t i = 0; i < text.size(); i += decode_at(text, i).size)
    if (!Is(decode_at(text, i).value)) return Value::boolean(false);
  return Value::boolean(EmptyHolds || !text.empty());
}
bool is_alnum(char32_t c) { return is_alpha(c) || is_numeric(c); }
bool is_ascii_char(char32_t c) { return c < 0x80; }

template <bool Lower>
Result<Value> is_case(Machine& m, const Value& self, const Arguments& a) {
  LOOM_TRY(const bool holds, test_entry(find_test(Lower ? "lower" : "upper")).run(m, self, a));
  return Value::boolean(holds);
}
Result<Value> is_title_text(Machine& m, const Value& self, const Arguments& a) {
  LOOM_TRY_VOID(a.none("istitle"));
  LOOM_TRY_VOID(m.heap.decode(self.s().size()));
  bool inside = false, any = false;
  const std::string_view text = self.s();
  for (std::size_t i = 0; i < text.size(); i += decode_at(text, i).size) {
    const char32_t c = decode_at(text, i).value;
    if ((is_upper(c) || is_title(c)) && inside) return Value::boolean(false);
    if (is_lower(c) && !inside) return Value::boolean(false);
    inside = is_cased(c);
    any |= inside;
  }
  return Value::boolean(any);
}
Result<Value> is_identifier(Machine& m, const Value& self, const Arguments& a) {
  LOOM_TRY_VOID(a.none("isidentifier"));
  LOOM_TRY_VOID(m.heap.decode(self.s().size()));
  const std::string_view text = self.s();
  for (std::size_t i = 0; i < text.size(); i += decode_at(text, i).size) {
    const char32_t c = decode_at(text, i).value;
    if (c != '_' && !is_alpha(c) && (i == 0 || !is_numeric(c))) return Value::boolean(false);
  }
  return Value::boolean(!text.empty());
}

Result<Value> format(Machine& m, const Value& self, const Arguments& args) { return format_braces(m, self, args); }
Result<Value> format_map(Machine& m, const Value& self, const Arguments& args) {
  LOOM_TRY(const auto a, args.bind("format_map", {"mapping"}, 1));
  if (!a[0].is(Kind::Dict))
    return fail(Code::TemplateError, "format_map: expected a mapping, got '{}'", type_name(a[0]));
  Arguments named;
  LOOM_TRY_VOID(m.heap.tick(a[0].dict().items.size()));
  for (const auto& [key, value] : a[0].dict().items)
    if (key.is(Kind::String)) named.keyword.emplace_back(std::string(key.s()), value);
  return format_braces(m, self, named);
}

Result<Value> encode(Machine&, const Value&, const Arguments&) {
  return fail(Code::Unsupported, "the method encode of str is not supported: templates have texts and no bytes");
}

// str.maketrans: a dict from code points, for translate().
Result<Value> make_table(Machine& m, const Value&, const Arguments& args) {
  LOOM_TRY(const auto a, args.bind("maketrans", {"x", "y", "z"}, 1));
  std::vector<std::pair<Value, Value>> items;
  if (a[1].missing()) {
    if (!a[0].is(Kind::Dict))
      return fail(Code::TemplateError, "if you give only one argument to maketrans it must be a dict");
    LOOM_TRY_VOID(m.heap.tick(a[0].dict().items.size()));
    for (const auto& [key, value] : a[0].dict().items) {
      if (!key.is(Kind::String) && !key.integral())
        return fail(Code::TemplateError, "keys in translate table must be strings or integers");
      if (key.is(Kind::String) && count_code_points(key.s()) != 1)
        return fail(Code::TemplateError, "string keys in translate table must be of length 1");
      items.emplace_back(
          key.is(Kind::String) ? Value::integer(static_cast<std::int64_t>(decode_at(key.s(), 0).value)) : key, value);
    }
    return make_dict(m.heap, std::move(items));
  }
  for (const Value& v : a)
    if (!v.missing() && !v.is(Kind::String))
      return fail(Code::TemplateError, "maketrans() argument must be str, not {}", type_name(v));
  const std::string_view from = a[0].s(), to = a[1].s(), gone = a[2].missing() ? std::string_view() : a[2].s();
  LOOM_TRY_VOID(m.heap.decode(from.size() + to.size() + gone.size()));
  if (count_code_points(from) != count_code_points(to))
    return fail(Code::TemplateError, "the first two maketrans arguments must have equal length");
  for (std::size_t i = 0, k = 0; i < from.size();) {
    const CodePoint p = decode_at(from, i), q = decode_at(to, k);
    items.emplace_back(Value::integer(static_cast<std::int64_t>(p.value)),
                       Value::integer(static_cast<std::int64_t>(q.value)));
    i += p.size, k += q.size;
  }
  for (std::size_t i = 0; i < gone.size(); i += decode_at(gone, i).size)
    items.emplace_back(Value::integer(static_cast<std::int64_t>(decode_at(gone, i).value)), Value::none());
  return make_dict(m.heap, std::move(items));
}

Result<Value> translate(Machine& m, const Value& self, const Arguments& args) {
  LOOM_TRY(const auto a, args.bind("translate", {"table"}, 1));
  if (!a[0].is(Kind::Dict))
    return fail(Code::Unsupported, "translate: a table of type {} is not supported, expected a dict", type_name(a[0]));
  const std::string_view text = self.s();
  LOOM_TRY_VOID(m.heap.decode(text.size()));
  TextBuilder out(m.heap);
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint p = decode_at(text, i);
    LOOM_TRY_VOID(m.heap.tick());
    const Value* to = a[0].dict().find(Value::integer(static_cast<std::int64_t>(p.value)));
    if (!to) {
      out.add(text.substr(i, p.size));
    } else if (to->is(Kind::String)) {
      out.add(to->s());
    } else if (to->integral()) {
      if (to->i() < 0 || to->i() > 0x10ffff || (to->i() >= 0xd800 && to->i() < 0xe000))
        return fail(Code::TemplateError, "character mapping must be in range(0x110000)");
      std::string one;
      append_utf8(one, static_cast<char32_t>(to->i()));
      out.add(one);
    } else if (!to->is(Kind::None)) {
      return fail(Code::TemplateError, "character mapping must return integer, None or str");
    }
    i += p.size;
  }
  LOOM_TRY(std::string all, out.finish());
  return like(m, self, std::move(all));
}

constexpr MethodEntry kMethods[] = {
    {"capitalize", changed_self<to_capital>},
    {"casefold", changed_self<fold_case>},
    {"center", justify<'^'>},
    {"count", count},
    {"encode", encode},
    {"endswith", affix<false>},
    {"expandtabs", expandtabs},
    {"find", find<false, false>},
    {"format", format},
    {"format_map", format_map},
    {"index", find<false, true>},
    {"isalnum", every<is_alnum>},
    {"isalpha", every<is_alpha>},
    {"isascii", every<is_ascii_char, true>},
    {"isdecimal", every<is_decimal>},
    {"isdigit", every<is_digit>},
    {"isidentifier", is_identifier},
    {"islower", is_case<true>},
    {"isnumeric", every<is_numeric>},
    {"isprintable", every<is_printable, true>},
    {"isspace", every<is_space>},
    {"istitle", is_title_text},
    {"isupper", is_case<false>},
    {"join", join},
    {"ljust", justify<'<'>},
    {"lower", changed_self<to_lower>},
    {"lstrip", strip<true, false>},
    {"maketrans", make_table},
    {"partition", partition<false>},
    {"removeprefix", remove_affix<true>},
    {"removesuffix", remove_affix<false>},
    {"replace", replace},
    {"rfind", find<true, false>},
    {"rindex", find<true, true>},
    {"rjust", justify<'>'>},
    {"rpartition", partition<true>},
    {"rsplit", split<true>},
    {"rstrip", strip<false, true>},
    {"split", split<false>},
    {"splitlines", splitlines},
    {"startswith", affix<true>},
    {"strip", strip<true, true>},
    {"swapcase", changed_self<swap_case>},
    {"title", changed_self<to_title>},
    {"translate", translate},
    {"upper", changed_self<to_upper>},
    {"zfill", zfill},
};

}  // namespace

std::span<const MethodEntry> text_methods() { return kMethods; }

}  // namespace loom::jinja
