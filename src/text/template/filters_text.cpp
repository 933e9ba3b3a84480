// Filters that give a text, a number or the value itself.

#include <algorithm>
#include <cmath>

#include "text/template/interpreter.h"
#include "text/template/unicode.h"

namespace loom::jinja {
namespace {

// soft_str: a text stays what it is, Markup included.
Result<Value> soft(Machine& m, const Value& v) {
  if (v.is(Kind::String)) return v;
  LOOM_TRY(std::string text, to_str(m.heap, v));
  return m.string(std::move(text));
}
Result<std::int64_t> as_index(const Value& v, std::string_view what) {
  if (v.undefined()) return undefined_error(v);
  if (!v.integral())
    return fail(Code::TemplateError, "{}: '{}' object cannot be interpreted as an integer", what, type_name(v));
  return v.i();
}

template <std::string (*Change)(std::string_view)>
Result<Value> changed(Machine& m, const Value& v, const Arguments& a) {
  LOOM_TRY_VOID(a.none("the filter"));
  LOOM_TRY(const Value text, soft(m, v));
  LOOM_TRY_VOID(m.heap.reserve(text.s().size() * 3));
  return m.string(Change(text.s()), text.text().markup);
}

// Words start after - white space ( { [ <, unlike in str.title.
std::string jinja_title(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const auto separates = [&](std::size_t k) {
      return std::string_view("-({[<").find(text[k]) != std::string_view::npos || is_space(decode_at(text, k).value);
    };
    std::size_t end = i;
    const bool gap = separates(i);
    while (end < text.size() && separates(end) == gap) end += decode_at(text, end).size;
    const std::string_view word = text.substr(i, end - i);
    const std::size_t first = decode_at(word, 0).size;
    out += to_upper(word.substr(0, first));
    out += to_lower(word.substr(first));
    i = end;
  }
  return out;
}

Result<Value> filter_string(Machine& m, const Value& v, const Arguments& a) {
  LOOM_TRY_VOID(a.none("string"));
  return soft(m, v);
}
Result<Value> filter_trim(Machine& m, const Value& v, const Arguments& args) {
  LOOM_TRY(const auto a, args.bind("trim", {"chars"}));
  LOOM_TRY(const Value text, soft(m, v));
  Arguments chars;
  if (!a[0].missing()) chars.positional.push_back(a[0]);
  return find_method(text, "strip")->run(m, text, chars);
}
Result<Value> filter_replace(Machine& m, const Value& v, const Arguments& args) {
  LOOM_TRY(const auto a, args.bind("replace", {"old", "new", "count"}, 2));
  Arguments plain;
  Value text;
  for (int k = -1; k < 2; ++k) {
    LOOM_TRY(std::string s, to_str(m.heap, k < 0 ? v : a[static_cast<std::size_t>(k)]));
    if (k < 0)
      text = m.string(std::move(s));
    else
      plain.positional.push_back(m.string(std::move(s)));
  }
  if (!a[2].missing() && !a[2].is(Kind::None)) plain.positional.push_back(a[2]);
  return find_method(text, "replace")->run(m, text, plain);
}
Result<Value> filter_format(Machine& m, const Value& v, const Arguments& args) {
  LOOM_TRY(const Value text, soft(m, v));
  if (!args.positional.empty() && !args.keyword.empty())
    return fail(Code::TemplateError, "can't handle positional and keyword arguments at the same time");
  if (args.keyword.empty()) {
    LOOM_TRY(const Value tuple, make_sequence(m.heap, Kind::Tuple, args.positional));
    return format_percent(m, text, tuple);
  }
  std::vector<std::pair<Value, Value>> items;
  items.reserve(args.keyword.size());
  for (const auto& [key, value] : args.keyword) items.emplace_back(m.string(key), value);
  LOOM_TRY(const Value dict, make_dict(m.heap, std::move(items)));
  return format_percent(m, text, dict);
}
Result<Value> filter_center(Machine& m, const Value& v, const Arguments& args) {
  LOOM_TRY(const auto a, args.bind("center", {"width"}));
  LOOM_TRY(const Value text, soft(m, v));
  Arguments width;
  width.positional.push_back(a[0].missing() ? Value::integer(80) : a[0]);
  return find_method(text, "center")->run(m, text, width);
}

Result<Value> filter_indent(Machine& m, const Value& v, const Arguments& args) {
  LOOM_TRY(const auto a, args.bind("indent", {"width", "first", "blank"}));
  if (v.undefined()) return undefined_error(v);
  if (!v.is(Kind::String))
    return fail(Code::TemplateError, "unsupported operand type(s) for +=: '{}' and 'str'", type_name(v));
  std::string indent = "    ";
  if (a[0].is(Kind::String)) {
    LOOM_TRY(indent, to_str(m.heap, a[0]));
  } else if (!a[0].missing()) {
    LOOM_TRY(const std::int64_t width, as_index(a[0], "indent"));
    LOOM_TRY_VOID(m.heap.reserve(static_cast<std::size_t>(std::max<std::int64_t>(width, 0))));
    indent.assign(static_cast<std::size_t>(std::max<std::int64_t>(width, 0)), ' ');
  }
  const bool blank = truthy(a[2]);
  const Value whole = m.string(std::string(v.s()) + "\n");
  LOOM_TRY(const Value lines, find_method(whole, "splitlines")->run(m, whole, {}));
  TextBuilder out(m.heap);
  if (truthy(a[1])) out.add(indent);
  bool first = true;
  for (const Value& line : lines.items()) {
    if (!first) out.add('\n');
    if (!first && (blank || !line.s().empty())) out.add(indent);
    out.add(line.s());
    first = false;
  }
  LOOM_TRY(std::string text, out.finish());
  return m.string(std::move(text), v.text().markup);
}

Result<Value> filter_truncate(Machine& m, const Value& v, const Arguments& args) {
  LOOM_TRY(const auto a, args.bind("truncate", {"length", "killwords", "end", "leeway"}));
  std::int64_t length = 255, leeway = 5;
  if (!a[0].missing()) {
    LOOM_TRY(length, as_index(a[0], "truncate"));
  }
  if (!a[3].missing() && !a[3].is(Kind::None)) {
    LOOM_TRY(leeway, as_index(a[3], "truncate"));
  }
  if (v.undefined()) return v;  // it has length 0
  if (!v.is(Kind::String)) {    // what is short enough stays
    LOOM_TRY(const std::int64_t size, length_of(v));
    if (size - leeway <= length) return v;
  }
  if (!v.is(Kind::String) || (!a[2].missing() && !a[2].is(Kind::String)))
    return fail(Code::TemplateError, "truncate: expected a text, got '{}'", type_name(v));
  LOOM_TRY_VOID(m.heap.decode(v.s().size() + (a[2].missing() ? 0 : a[2].s().size())));
  const std::string end = a[2].missing() ? "..." : std::string(a[2].s());
  const auto end_size = static_cast<std::int64_t>(count_code_points(end));
  if (length < end_size) return fail(Code::TemplateError, "expected length >= {}, got {}", end_size, length);
  if (leeway < 0) return fail(Code::TemplateError, "expected leeway >= 0, got {}", leeway);
  const std::string_view text = v.s();
  const auto size = static_cast<std::int64_t>(count_code_points(text));
  if (size - leeway <= length) return v;
  std::string_view kept = text.substr(0, offset_of(text, static_cast<std::size_t>(length - end_size)));
  if (!truthy(a[1])) kept = kept.substr(0, std::min(kept.rfind(' '), kept.size()));
  return m.string(std::string(kept) + end, v.text().markup);
}

Result<Value> filter_wordcount(Machine& m, const Value& v, const Arguments& a) {
  LOOM_TRY_VOID(a.none("wordcount"));
  LOOM_TRY(const Value text, soft(m, v));
  LOOM_TRY_VOID(m.heap.decode(text.s().size()));
  std::int64_t words = 0;
  bool inside = false;
  for (std::size_t i = 0; i < text.s().size();) {
    const CodePoint p = decode_at(text.s(), i);
    const bool word = p.value == '_' || is_alpha(p.value) || is_numeric(p.value);
    words += word && !inside;
    inside = word;
    i += p.size;
  }
  return Value::integer(words);
}

Result<Value> filter_default(Machine& m, const Value& v, const Arguments& args) {
  LOOM_TRY(const auto a, args.bind("default", {"default_value", "boolean"}));
  if (!v.undefined() && !(truthy(a[1]) && !truthy(v))) return v;
  return a[0].missing() ? m.string("") : a[0];
}

Result<Value> filter_safe(Machine& m, const Value& v, const Arguments& a) {
  LOOM_TRY_VOID(a.none("safe"));
  LOOM_TRY(std::string text, to_str(m.heap, v));
  return m.string(std::move(text), true);
}
Result<Value> filter_escape(Machine& m, const Value& v, const Arguments& a) {
  LOOM_TRY_VOID(a.none("escape"));
  if (v.is(Kind::String) && v.text().markup) return v;
  LOOM_TRY(const std::string text, to_str(m.heap, v));
  LOOM_TRY_VOID(m.heap.reserve(text.size() * 5));
  return m.string(escape_html(text), true);
}
Result<Value> filter_forceescape(Machine& m, const Value& v, const Arguments& a) {
  LOOM_TRY_VOID(a.none("forceescape"));
  LOOM_TRY(const std::string text, to_str(m.heap, v));
  LOOM_TRY_VOID(m.heap.reserve(text.size() * 5));
  return m.string(escape_html(text), true);
}

Result<Value> filter_tojson(Machine& m, const Value& v, const Arguments& args) {
  LOOM_TRY(const auto a, args.bind("tojson", {"ensure_ascii", "indent", "separators", "sort_keys"}));
  JsonStyle style;
  style.ascii = !a[0].missing() && truthy(a[0]);
  style.sort_keys = !a[3].missing() && truthy(a[3]);
  if (a[1].is(Kind::String)) {
    style.indent = std::string(a[1].s());
  } else if (!a[1].missing() && !a[1].is(Kind::None)) {
    LOOM_TRY(const std::int64_t width, as_index(a[1], "tojson"));
    if (width > 1000) return fail(Code::LimitExceeded, "tojson: an indent of {} is beyond 1000", width);
    style.indent = std::string(static_cast<std::size_t>(std::max<std::int64_t>(width, 0)), ' ');
  }
  if (style.indent) style.item_separator = std::string(1, ',');
  if (!a[2].missing() && !a[2].is(Kind::None)) {
    LOOM_TRY(const auto parts, to_list(m.heap, a[2]));
    if (parts.size() != 2 || !parts[0].is(Kind::String) || !parts[1].is(Kind::String))
      return fail(Code::TemplateError, "tojson: separators must be two texts");
    style.item_separator = std::string(parts[0].s());
    style.key_separator = std::string(parts[1].s());
  }
  LOOM_TRY(std::string text, to_json(m.heap, v, style));
  return m.string(std::move(text));
}

// ---- numbers

Result<Value> filter_abs(Machine& m, const Value& v, const Arguments& a) {
  LOOM_TRY_VOID(a.none("abs"));
  if (v.is(Kind::Float)) return Value::number(std::abs(v.f()));
  if (!v.integral()) return fail(Code::TemplateError, "bad operand type for abs(): '{}'", type_name(v));
  return v.i() < 0 ? arithmetic(m, Op::Sub, Value::integer(0), v) : Value::integer(v.i());
}

std::optional<std::int64_t> whole(double d) {
  if (!(std::abs(d) < 0x1p63)) return std::nullopt;
  return static_cast<std::int64_t>(d);
}

Result<Value> filter_int(Machine& m, const Value& v, const Arguments& args) {
  LOOM_TRY(const auto a, args.bind("int", {"default", "base"}));
  Value fallback = a[0].missing() ? Value::integer(0) : a[0];
  std::int64_t base = 10;
  if (!a[1].missing()) {
    LOOM_TRY(base, as_index(a[1], "int"));
  }
  if (v.undefined()) return undefined_error(v);
  if (v.is(Kind::BigInt)) return v;
  if (v.integral()) return Value::integer(v.i());
  std::optional<double> real;
  if (v.is(Kind::String)) {
    LOOM_TRY_VOID(m.heap.decode(v.s().size() * 4));
    const std::string_view text = strip_left(strip_right(v.s()));
    if (base >= 0 && base <= 36) {
      if (const auto i = parse_integer(text, static_cast<int>(base))) return Value::integer(*i);
    }
    if (text.size() > 15 && text.find_first_not_of("0123456789-+_") == std::string_view::npos && base == 10)
      return fail(Code::OutOfRange, "int: {} does not fit in 64 bits", text.substr(0, 60));
    real = parse_number(text);
  } else if (v.is(Kind::Float)) {
    real = v.f();
    if (std::isinf(*real)) return fail(Code::TemplateError, "cannot convert float infinity to integer");
  }
  if (!real || !std::isfinite(*real)) return fallback;
  const auto i = whole(*real);
  if (!i) return fail(Code::OutOfRange, "int: {} does not fit in 64 bits", *real);
  return Value::integer(*i);
}

Result<Value> filter_float(Machine& m, const Value& v, const Arguments& args) {
  LOOM_TRY(const auto a, args.bind("float", {"default"}));
  if (v.undefined()) return undefined_error(v);
  if (v.numeric()) return Value::number(v.f());
  if (v.is(Kind::String) || v.is(Kind::BigInt)) {
    LOOM_TRY_VOID(m.heap.decode(v.s().size() * 4));
    if (const auto d = parse_number(strip_left(strip_right(v.s())))) return Value::number(*d);
  }
  return a[0].missing() ? Value::number(0) : a[0];
}

Result<Value> filter_round(Machine&, const Value& v, const Arguments& args) {
  LOOM_TRY(const auto a, args.bind("round", {"precision", "method"}));
  std::int64_t digits = 0;
  if (!a[0].missing()) {
    LOOM_TRY(digits, as_index(a[0], "round"));
  }
  const std::string_view method = a[1].is(Kind::String) ? a[1].s() : std::string_view("common");
  if (method != "common" && method != "ceil" && method != "floor")
    return fail(Code::TemplateError, "method must be common, ceil or floor");
  if (v.undefined()) return undefined_error(v);
  if (!v.numeric()) return fail(Code::TemplateError, "type {} doesn't define __round__ method", type_name(v));
  if (method == "common") {
    if (v.integral() && digits >= 0) return Value::integer(v.i());
    LOOM_TRY(const double r, round_decimal(v.f(), digits));
    return v.integral() ? Value::integer(static_cast<std::int64_t>(r)) : Value::number(r);
  }
  if (digits < 0 || digits > 300) return fail(Code::Unsupported, "round: precision {} is outside of 0..300", digits);
  double scale = 1;
  for (std::int64_t k = 0; k < digits; ++k) scale *= 10;
  const double scaled = v.f() * scale;
  return Value::number((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / scale);
}

Result<Value> filter_filesizeformat(Machine& m, const Value& v, const Arguments& args) {
  LOOM_TRY(const auto a, args.bind("filesizeformat", {"binary"}));
  Arguments no_default;
  no_default.positional.push_back(Value::none());
  LOOM_TRY(const Value number, filter_float(m, v, no_default));
  if (number.is(Kind::None))
    return fail(Code::TemplateError, "filesizeformat: expected a number, got {}", type_name(v));
  const bool binary = truthy(a[0]);
  const double bytes = number.f(), base = binary ? 1024 : 1000;
  if (bytes == 1) return m.string("1 Byte");
  if (bytes < base) return m.string(fmt::format("{} Bytes", static_cast<std::int64_t>(std::max(bytes, -9e15))));
  double unit = base;
  static constexpr char kPrefix[] = "kMGTPEZY";
  for (int k = 0; k < 8; ++k) {
    unit *= base;
    if (bytes < unit || k == 7)
      return m.string(
          fmt::format("{:.1f} {}{}", base * bytes / unit, binary && k == 0 ? 'K' : kPrefix[k], binary ? "iB" : "B"));
  }
  return m.string("");
}

Result<Value> filter_urlencode(Machine& m, const Value& v, const Arguments& a) {
  LOOM_TRY_VOID(a.none("urlencode"));
  constexpr const char* kHex = "0123456789ABCDEF";
  const auto quote = [&](const Value& part, bool query) -> Result<std::string> {
    LOOM_TRY(const std::string text, to_str(m.heap, part));
    LOOM_TRY_VOID(m.heap.reserve(text.size() * 3));
    std::string out;
    for (const char c : text) {
      const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                         std::string_view("_.-~").find(c) != std::string_view::npos;
      if (plain || (c == '/' && !query))
        out += c;
      else if (c == ' ' && query)
        out += '+';
      else
        out.append({'%', kHex[static_cast<unsigned char>(c) >> 4], kHex[static_cast<unsigned char>(c) & 15]});
    }
    return out;
  };
  Value pairs = v;
  if (v.is(Kind::Dict)) {
    LOOM_TRY(pairs, find_method(v, "items")->run(m, v, {}));
  }
  const auto list = v.is(Kind::String) ? Result<std::vector<Value>>() : to_list(m.heap, pairs);
  if (v.is(Kind::String) || !list) {  // anything that is no iterable
    LOOM_TRY(std::string out, quote(v, false));
    return m.string(std::move(out));
  }
  TextBuilder out(m.heap);
  bool first = true;
  for (const Value& pair : *list) {
    LOOM_TRY(const auto parts, to_list(m.heap, pair));
    if (parts.size() != 2) return fail(Code::TemplateError, "urlencode: expected pairs");
    LOOM_TRY(const std::string key, quote(parts[0], true));
    LOOM_TRY(const std::string value, quote(parts[1], true));
    if (!first) out.add('&');
    first = false;
    out.add(key);
    out.add('=');
    out.add(value);
  }
  LOOM_TRY(std::string all, out.finish());
  return m.string(std::move(all));
}

Result<Value> filter_random(Machine&, const Value&, const Arguments&) {
  return fail(Code::Unsupported, "the filter random is not supported: a template gives the same text every time");
}
Result<Value> filter_urlize(Machine&, const Value&, const Arguments&) {
  return fail(Code::Unsupported, "the filter urlize is not supported: it writes links for web pages");
}

constexpr FilterEntry kTextFilters[] = {
    {"abs", filter_abs},
    {"capitalize", changed<to_capital>},
    {"center", filter_center},
    {"d", filter_default},
    {"default", filter_default},
    {"e", filter_escape},
    {"escape", filter_escape},
    {"filesizeformat", filter_filesizeformat},
    {"float", filter_float},
    {"forceescape", filter_forceescape},
    {"format", filter_format},
    {"indent", filter_indent},
    {"int", filter_int},
    {"lower", changed<to_lower>},
    {"pprint", filter_pprint},
    {"random", filter_random},
    {"replace", filter_replace},
    {"round", filter_round},
    {"safe", filter_safe},
    {"string", filter_string},
    {"striptags", filter_striptags},
    {"title", changed<jinja_title>},
    {"tojson", filter_tojson},
    {"trim", filter_trim},
    {"truncate", filter_truncate},
    {"upper", changed<to_upper>},
    {"urlencode", filter_urlencode},
    {"urlize", filter_urlize},
    {"wordcount", filter_wordcount},
    {"wordwrap", filter_wordwrap},
    {"xmlattr", filter_xmlattr},
};

}  // namespace

std::span<const FilterEntry> text_filters() { return kTextFilters; }

}  // namespace loom::jinja
