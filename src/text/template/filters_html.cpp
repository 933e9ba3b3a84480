// Filters for web pages: striptags, xmlattr. jinja2 3.1.6 over markupsafe 3.0.4 and Python's html module.

#include <algorithm>
#include <iterator>

#include "text/template/interpreter.h"
#include "text/template/unicode.h"

namespace loom::jinja {
namespace {

struct HtmlEntity {
  std::string_view name;
  char32_t text[2];  // one or two characters
};
#include "text/template/html_entities.inc"

const HtmlEntity* find_entity(std::string_view name) {
  const auto* end = std::end(kHtmlEntities);
  const auto* it = std::lower_bound(std::begin(kHtmlEntities), end, name,
                                    [](const HtmlEntity& e, std::string_view n) { return e.name < n; });
  return it != end && it->name == name ? it : nullptr;
}

// A numeric character reference as HTML 5 decodes it: Windows-1252 in 0x80..0x9f, nothing for controls and
// noncharacters.
void append_number(std::string& out, std::uint32_t n) {
  constexpr char32_t kWindows[32] = {0x20ac, 0x81,   0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021,
                                     0x02c6, 0x2030, 0x0160, 0x2039, 0x0152, 0x8d,   0x017d, 0x8f,
                                     0x90,   0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014,
                                     0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0x9d,   0x017e, 0x0178};
  if (n >= 0x80 && n < 0xa0) return append_utf8(out, kWindows[n - 0x80]);
  if (n == 0 || n > 0x10ffff || (n >= 0xd800 && n < 0xe000)) return append_utf8(out, 0xfffd);
  if (n == '\r') return append_utf8(out, n);
  const bool control = (n < 0x20 && n != '\t' && n != '\n' && n != '\f') || n == 0x7f;
  if (control || (n >= 0xfdd0 && n < 0xfdf0) || (n & 0xfffe) == 0xfffe) return;
  append_utf8(out, n);
}

// Reads digits after "&#" and a semicolon that may be missing. False when there is no digit.
bool take_number(std::string& out, std::string_view text, std::size_t& at) {
  std::size_t i = at;
  const bool hex = i < text.size() && (text[i] == 'x' || text[i] == 'X');
  i += hex;
  const std::size_t first = i;
  std::uint32_t n = 0;
  for (; i < text.size(); ++i) {
    const char c = text[i];
    const int digit = c >= '0' && c <= '9'          ? c - '0'
                      : hex && c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : hex && c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                    : -1;
    if (digit < 0) break;
    n = std::min<std::uint32_t>(n * (hex ? 16 : 10) + static_cast<std::uint32_t>(digit), 0x110000);
  }
  if (i == first) return false;
  at = i + (i < text.size() && text[i] == ';');
  append_number(out, n);
  return true;
}

// Reads up to 32 characters of a name after "&"; the longest entity that it begins with counts. False when it is none.
bool take_name(std::string& out, std::string_view text, std::size_t& at) {
  std::size_t end = at;
  for (int count = 0;
       count < 32 && end < text.size() && std::string_view("\t\n\f <&#;").find(text[end]) == std::string_view::npos;
       ++count)
    end += decode_at(text, end).size;
  if (end == at) return false;
  end += end < text.size() && text[end] == ';';
  for (std::size_t length = end - at; length > 1; --length) {
    const HtmlEntity* e = length <= 32 ? find_entity(text.substr(at, length)) : nullptr;
    if (!e) continue;
    append_utf8(out, e->text[0]);
    if (e->text[1] != 0) append_utf8(out, e->text[1]);
    at += length;
    return true;
  }
  return false;
}

std::string unescape_html(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t next = std::min(text.find('&', i), text.size());
    out.append(text.substr(i, next - i));
    i = next;
    if (i == text.size()) break;
    std::size_t after = i + 1;
    const bool number = after < text.size() && text[after] == '#';
    if (number ? take_number(out, text, ++after) : take_name(out, text, after)) {
      i = after;
    } else {
      out += '&';
      ++i;
    }
  }
  return out;
}

// Tags and comments go; from the first that does not end on, all stays.
std::string without_tags(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t open = std::min(text.find('<', i), text.size());
    const bool comment = text.substr(open).starts_with("<!--");
    const std::size_t close = open == text.size() ? std::string_view::npos
                              : comment           ? text.find("-->", open + 4)
                                                  : text.find('>', open);
    if (close == std::string_view::npos) return out.append(text.substr(i));
    out.append(text.substr(i, open - i));
    i = close + (comment ? 3 : 1);
  }
  return out;
}

// ' '.join(text.split())
std::string with_single_spaces(std::string_view text) {
  std::string out;
  bool gap = false;
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint p = decode_at(text, i);
    if (is_space(p.value)) {
      gap = !out.empty();
    } else {
      if (gap) out += ' ';
      gap = false;
      out.append(text.substr(i, p.size));
    }
    i += p.size;
  }
  return out;
}

}  // namespace

Result<Value> filter_striptags(Machine& m, const Value& v, const Arguments& a) {
  LOOM_TRY_VOID(a.none("striptags"));
  LOOM_TRY(const std::string text, to_str(m.heap, v));
  LOOM_TRY_VOID(m.heap.reserve(text.size() * 4));
  LOOM_TRY_VOID(m.heap.decode(text.size() * 4));
  return m.string(unescape_html(with_single_spaces(without_tags(text))));
}

Result<Value> filter_xmlattr(Machine& m, const Value& v, const Arguments& args) {
  LOOM_TRY(const auto a, args.bind("xmlattr", {"autospace"}));
  if (v.undefined()) return undefined_error(v);
  if (!v.is(Kind::Dict)) return fail(Code::TemplateError, "'{}' object has no attribute 'items'", type_name(v));
  const bool space = a[0].missing() || truthy(a[0]);
  const auto escaped = [&](const Value& x) -> Result<std::string> {
    LOOM_TRY(std::string text, to_str(m.heap, x));
    if (x.is(Kind::String) && x.text().markup) return text;
    LOOM_TRY_VOID(m.heap.reserve(text.size() * 5));
    return escape_html(text);
  };
  TextBuilder out(m.heap);
  for (const auto& [key, value] : v.dict().items) {
    LOOM_TRY_VOID(m.heap.tick());
    if (value.undefined() || value.is(Kind::None)) continue;
    if (!key.is(Kind::String))
      return fail(Code::TemplateError, "xmlattr: the name of an attribute is a '{}', expected a text", type_name(key));
    if (key.s().find_first_of(" \t\n\r\f\v/>=") != std::string_view::npos)
      return fail(Code::TemplateError, "Invalid character in attribute name: {}", repr_string(shortened(key.s())));
    LOOM_TRY(const std::string name, escaped(key));
    LOOM_TRY(const std::string text, escaped(value));
    if (space || out.size() > 0) out.add(' ');
    out.add(name);
    out.add("=\"");
    out.add(text);
    out.add('"');
  }
  LOOM_TRY(std::string all, out.finish());
  return m.string(std::move(all));
}

}  // namespace loom::jinja
