// '%s' % x, '{}'.format(x), numbers from and to text.

#include <algorithm>
#include <cmath>

#include "text/template/interpreter.h"
#include "text/template/unicode.h"

namespace loom::jinja {

std::optional<std::int64_t> parse_integer(std::string_view text, int base) {
  bool minus = false;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    minus = text[0] == '-';
    text.remove_prefix(1);
  }
  const int prefix = text.size() > 2 && text[0] == '0' ? ((text[1] | 0x20) == 'x'   ? 16
                                                          : (text[1] | 0x20) == 'o' ? 8
                                                          : (text[1] | 0x20) == 'b' ? 2
                                                                                    : 0)
                                                       : 0;
  if (prefix != 0 && (base == 0 || base == prefix)) {
    base = prefix;
    text.remove_prefix(2);
    if (text[0] == '_') text.remove_prefix(1);
  }
  if (base == 0) base = 10;
  if (base < 2 || base > 36 || text.empty()) return std::nullopt;
  std::int64_t value = 0;
  bool digit = false;
  for (const char c : text) {
    if (c == '_') {
      if (!digit) return std::nullopt;
      digit = false;
      continue;
    }
    const char lower = static_cast<char>(c | 0x20);
    const int d = c >= '0' && c <= '9' ? c - '0' : lower >= 'a' && lower <= 'z' ? lower - 'a' + 10 : 99;
    if (d >= base) return std::nullopt;
    digit = true;
    if (__builtin_mul_overflow(value, base, &value) || __builtin_sub_overflow(value, d, &value)) return std::nullopt;
  }
  if (!digit || (!minus && value == INT64_MIN)) return std::nullopt;
  return minus ? value : -value;
}

// Through the JSON reader, which rounds correctly and knows no locale; what Python allows beyond JSON is put in shape
// first.
std::optional<double> parse_number(std::string_view text) {
  std::string clean;
  std::string_view rest = text;
  if (!rest.empty() && (rest[0] == '-' || rest[0] == '+')) {
    if (rest[0] == '-') clean = "-";
    rest.remove_prefix(1);
  }
  const std::string word = to_lower(rest);
  const double sign = clean.empty() ? 1 : -1;
  if (word == "inf" || word == "infinity") return sign * std::numeric_limits<double>::infinity();
  if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
  std::size_t start = 0;
  while (start + 1 < rest.size() && rest[start] == '0' && rest[start + 1] >= '0' && rest[start + 1] <= '9') ++start;
  bool digit_before = false;
  for (std::size_t i = start; i < rest.size(); ++i) {
    const char c = rest[i];
    const bool digit_after = i + 1 < rest.size() && rest[i + 1] >= '0' && rest[i + 1] <= '9';
    if (c == '_' && digit_before && digit_after) continue;
    if (c == '.' && !digit_before) {
      if (!digit_after) return std::nullopt;
      clean += '0';
    }
    clean += c;
    if (c == '.' && !digit_after) clean += '0';
    digit_before = c >= '0' && c <= '9';
    if (!digit_before && c != '.' && c != 'e' && c != 'E' && c != '-' && c != '+') return std::nullopt;
  }
  if (clean.size() > 4000) return std::nullopt;
  const auto json = parse_json(clean);
  if (!json) return std::nullopt;
  return as_number(*json);
}

Result<double> round_decimal(double value, std::int64_t digits) {
  if (!std::isfinite(value)) return value;
  if (digits > 300) return value;
  if (digits < -308) return 0.0;
  if (digits >= 0) {
    // fmt writes the exact decimal expansion, rounded half to even where that is a tie.
    const auto parsed = parse_number(fmt::format("{:.{}f}", value, static_cast<int>(digits)));
    return parsed ? *parsed : value;
  }
  double scale = 1;
  for (std::int64_t k = 0; k < -digits; ++k) scale *= 10;
  return std::nearbyint(value / scale) * scale;
}

namespace {

struct Spec {
  std::string fill = " ";
  char align = 0, sign = 0, type = 0, comma = 0;
  bool alternate = false;
  std::size_t width = 0;
  std::int64_t precision = -1;
};

Result<std::string> padded(Machine& m, std::string body, const Spec& s, char standard, std::size_t sign_size = 0) {
  const std::size_t size = count_code_points(body);
  if (size >= s.width) return body;
  const std::size_t room = s.width - size;
  const char align = s.align ? s.align : standard;
  const std::size_t left = align == '<' ? 0 : align == '^' ? room / 2 : room;
  TextBuilder out(m.heap);
  if (align == '=') out.add(std::string_view(body).substr(0, sign_size));
  out.fill(left, s.fill);
  out.add(align == '=' ? std::string_view(body).substr(sign_size) : std::string_view(body));
  out.fill(room - left, s.fill);
  return out.finish();
}

std::string grouped(std::string_view digits, char comma) {
  std::string out;
  const std::size_t whole = std::min(digits.find('.'), digits.size());
  for (std::size_t i = 0; i < whole; ++i) {
    if (i > 0 && (whole - i) % 3 == 0) out += comma;
    out += digits[i];
  }
  return out + std::string(digits.substr(whole));
}

Result<std::string> with_sign(Machine& m, bool minus, std::string_view prefix, std::string digits, const Spec& s) {
  if (s.comma) digits = grouped(digits, s.comma);
  std::string body = minus ? "-" : s.sign == '+' ? "+" : s.sign == ' ' ? " " : "";
  body += prefix;
  const std::size_t sign_size = body.size();
  body += digits;
  return padded(m, std::move(body), s, '>', sign_size);
}

Result<std::string> format_integer(Machine& m, std::int64_t value, const Spec& s) {
  const auto size = static_cast<std::uint64_t>(value);
  const std::uint64_t magnitude = value < 0 ? 0 - size : size;
  std::string digits, prefix;
  switch (s.type) {
    case 0:
    case 'd':
    case 'n': digits = fmt::format("{}", magnitude); break;
    case 'x': digits = fmt::format("{:x}", magnitude), prefix = "0x"; break;
    case 'X': digits = fmt::format("{:X}", magnitude), prefix = "0X"; break;
    case 'o': digits = fmt::format("{:o}", magnitude), prefix = "0o"; break;
    case 'b': digits = fmt::format("{:b}", magnitude), prefix = "0b"; break;
    case 'c': {
      if (value < 0 || value > 0x10ffff) return fail(Code::TemplateError, "%c arg not in range(0x110000)");
      append_utf8(digits, static_cast<char32_t>(value));
      return padded(m, std::move(digits), s, '<');
    }
    default: return fail(Code::TemplateError, "Unknown format code '{}' for object of type 'int'", s.type);
  }
  return with_sign(m, value < 0, s.alternate ? std::string_view(prefix) : std::string_view(), std::move(digits), s);
}

Result<std::string> format_float(Machine& m, double value, const Spec& s) {
  const int precision = s.precision < 0 ? 6 : static_cast<int>(std::min<std::int64_t>(s.precision, 1000));
  const double magnitude = std::abs(value);
  std::string digits;
  switch (s.type) {
    case 0:
      if (s.precision < 0) {
        digits = repr_float(magnitude);
      } else {
        digits = fmt::format("{:.{}g}", magnitude, std::max(precision, 1));
        if (digits.find_first_of(".en") == std::string::npos) digits += ".0";
      }
      break;
    case 'f':
    case 'F': digits = fmt::format("{:.{}f}", magnitude, precision); break;
    case 'e': digits = fmt::format("{:.{}e}", magnitude, precision); break;
    case 'E': digits = fmt::format("{:.{}E}", magnitude, precision); break;
    case 'g':
    case 'n': digits = fmt::format("{:.{}g}", magnitude, std::max(precision, 1)); break;
    case 'G': digits = fmt::format("{:.{}G}", magnitude, std::max(precision, 1)); break;
    case '%': digits = fmt::format("{:.{}f}%", magnitude * 100, precision); break;
    default: return fail(Code::TemplateError, "Unknown format code '{}' for object of type 'float'", s.type);
  }
  return with_sign(m, std::signbit(value) && !std::isnan(value), "", std::move(digits), s);
}

Result<std::string> format_text(Machine& m, std::string_view text, const Spec& s) {
  if (s.precision >= 0) text = text.substr(0, offset_of(text, static_cast<std::size_t>(s.precision)));
  return padded(m, std::string(text), s, '<');
}

Result<std::size_t> read_count(std::string_view text, std::size_t& i) {
  std::size_t n = 0;
  while (i < text.size() && text[i] >= '0' && text[i] <= '9') {
    n = n * 10 + static_cast<std::size_t>(text[i++] - '0');
    if (n > 1'000'000) return fail(Code::LimitExceeded, "a format's width or precision is beyond 1000000");
  }
  return n;
}

// [[fill]align][sign][#][0][width][,][.precision][type]
Result<Spec> parse_spec(std::string_view text) {
  Spec s;
  std::size_t i = 0;
  const auto is_align = [](char c) { return c == '<' || c == '>' || c == '^' || c == '='; };
  if (!text.empty()) {
    const std::size_t first = decode_at(text, 0).size;
    if (first < text.size() && is_align(text[first])) {
      s.fill = std::string(text.substr(0, first));
      s.align = text[first];
      i = first + 1;
    } else if (is_align(text[0])) {
      s.align = text[i++];
    }
  }
  if (i < text.size() && (text[i] == '+' || text[i] == '-' || text[i] == ' ')) s.sign = text[i++];
  if (i < text.size() && text[i] == '#') s.alternate = true, ++i;
  if (i < text.size() && text[i] == '0') {
    ++i;
    if (!s.align) s.align = '=', s.fill = "0";
  }
  LOOM_TRY(s.width, read_count(text, i));
  if (i < text.size() && (text[i] == ',' || text[i] == '_')) s.comma = text[i++];
  if (i < text.size() && text[i] == '.') {
    const std::size_t start = ++i;
    LOOM_TRY(const std::size_t precision, read_count(text, i));
    if (i == start) return fail(Code::TemplateError, "Format specifier missing precision");
    s.precision = static_cast<std::int64_t>(precision);
  }
  if (i < text.size()) s.type = text[i++];
  if (i < text.size()) return fail(Code::TemplateError, "Invalid format specifier '{}'", text.substr(0, 40));
  return s;
}

Result<std::string> format_value(Machine& m, const Value& v, std::string_view text) {
  if (text.empty()) return to_str(m.heap, v);
  LOOM_TRY(const Spec s, parse_spec(text));
  if (v.is(Kind::Float)) return format_float(m, v.f(), s);
  if (v.integral()) {
    if (s.type != 0 && std::string_view("eEfFgG%").find(s.type) != std::string_view::npos)
      return format_float(m, v.f(), s);
    return format_integer(m, v.i(), s);
  }
  if (!v.is(Kind::String))
    return fail(Code::TemplateError, "unsupported format string passed to {}.__format__", type_name(v));
  if (s.type != 0 && s.type != 's')
    return fail(Code::TemplateError, "Unknown format code '{}' for object of type 'str'", s.type);
  if (s.align == '=' && s.fill != "0")
    return fail(Code::TemplateError, "'=' alignment not allowed in string format specifier");
  Spec plain = s;
  if (plain.align == '=') plain.align = '<';
  return format_text(m, v.s(), plain);
}

// One replacement field of str.format.
class Braces {
 public:
  Braces(Machine& m, const Arguments& args, bool escape) : m_(m), args_(args), escape_(escape), out_(m.heap) {}

  Result<void> run(std::string_view text, int depth) {
    if (depth < 0) return fail(Code::TemplateError, "Max string recursion exceeded");
    LOOM_TRY_VOID(m_.heap.decode(text.size()));
    for (std::size_t i = 0; i < text.size();) {
      const char c = text[i];
      if (c != '{' && c != '}') {
        const std::size_t end = std::min(text.find_first_of("{}", i), text.size());
        out_.add(text.substr(i, end - i));
        i = end;
      } else if (i + 1 < text.size() && text[i + 1] == c) {
        out_.add(c);
        i += 2;
      } else if (c == '}') {
        return fail(Code::TemplateError, "Single '}}' encountered in format string");
      } else {
        const std::size_t end = closing(text, i);
        if (end == std::string_view::npos) return fail(Code::TemplateError, "expected '}}' before end of string");
        LOOM_TRY_VOID(field(text.substr(i + 1, end - i - 1), depth));
        i = end + 1;
      }
    }
    return {};
  }
  Result<std::string> finish() { return out_.finish(); }

 private:
  static std::size_t closing(std::string_view text, std::size_t i) {
    int open = 0;
    for (; i < text.size(); ++i) {
      if (text[i] == '{') ++open;
      if (text[i] == '}' && --open == 0) return i;
    }
    return std::string_view::npos;
  }
  Result<void> field(std::string_view text, int depth) {
    LOOM_TRY_VOID(m_.heap.tick());
    const std::size_t name_end = std::min(text.find_first_of("!:"), text.size());
    LOOM_TRY(Value v, lookup(text.substr(0, name_end)));
    std::string_view rest = text.substr(name_end);
    if (!rest.empty() && rest[0] == '!') {
      if (rest.size() < 2 || (rest.size() > 2 && rest[2] != ':'))
        return fail(Code::TemplateError, "expected ':' after conversion specifier");
      std::string converted;
      if (rest[1] == 'r') {
        LOOM_TRY(converted, to_repr(m_.heap, v));
      } else if (rest[1] == 's') {
        LOOM_TRY(converted, to_str(m_.heap, v));
      } else {
        return fail(Code::TemplateError, "Unknown conversion specifier {}", rest[1]);
      }
      v = m_.string(std::move(converted));
      rest.remove_prefix(2);
    }
    std::string spec(rest.empty() ? rest : rest.substr(1));
    if (spec.find('{') != std::string::npos) {
      Braces inner(m_, args_, false);
      inner.next_ = next_;
      LOOM_TRY_VOID(inner.run(spec, depth - 1));
      LOOM_TRY(spec, inner.finish());
      next_ = inner.next_;
    }
    LOOM_TRY(std::string shown, format_value(m_, v, spec));
    out_.add(escape_ && !(v.is(Kind::String) && v.text().markup) ? escape_html(shown) : shown);
    return {};
  }
  Result<Value> lookup(std::string_view path) {
    const std::size_t end = std::min(path.find_first_of(".["), path.size());
    const std::string_view first = path.substr(0, end);
    Value v;
    const auto index = parse_integer(first, 10);
    if (first.empty() || (index && first[0] != '-' && first[0] != '+')) {
      const auto k = first.empty() ? next_++ : static_cast<std::size_t>(*index);
      if (k >= args_.positional.size())
        return fail(Code::TemplateError, "Replacement index {} out of range for positional args tuple", k);
      v = args_.positional[k];
    } else {
      LOOM_TRY_VOID(m_.heap.tick(1 + args_.keyword.size() / 16));
      for (const auto& [key, value] : args_.keyword)
        if (key == first) v = value;
      if (v.missing()) return fail(Code::TemplateError, "{}", repr_string(first));
    }
    path.remove_prefix(end);
    while (!path.empty()) {
      const bool bracket = path[0] == '[';
      path.remove_prefix(1);
      const std::size_t stop = std::min(bracket ? path.find(']') : path.find_first_of(".["), path.size());
      const std::string_view part = path.substr(0, stop);
      if (part.empty() || (bracket && stop == path.size()))
        return fail(Code::TemplateError, "Empty attribute in format string");
      if (!bracket) {
        LOOM_TRY(v, m_.attribute(v, part));
      } else {
        const auto number = parse_integer(part, 10);
        LOOM_TRY(v, m_.item(v, number && part[0] != '-' && part[0] != '+' ? Value::integer(*number)
                                                                          : m_.string(std::string(part))));
      }
      path.remove_prefix(std::min(stop + (bracket ? 1 : 0), path.size()));
    }
    return v;
  }

  Machine& m_;
  const Arguments& args_;
  bool escape_;
  TextBuilder out_;
  std::size_t next_ = 0;
};

// '%(name)-5.2f': what stands between the percent sign and its letter.
struct Percent {
  std::string_view key;
  bool keyed = false, star_width = false, star_precision = false;
  Spec spec;
};

Result<Percent> parse_percent(std::string_view text, std::size_t& i) {
  Percent p;
  if (i < text.size() && text[i] == '(') {
    const std::size_t end = text.find(')', i);
    if (end == std::string_view::npos) return fail(Code::TemplateError, "incomplete format key");
    p.key = text.substr(i + 1, end - i - 1);
    p.keyed = true;
    i = end + 1;
  }
  bool zero = false, minus = false;
  for (; i < text.size() && std::string_view("-+ #0").find(text[i]) != std::string_view::npos; ++i) {
    if (text[i] == '-')
      minus = true;
    else if (text[i] == '0')
      zero = true;
    else if (text[i] == '#')
      p.spec.alternate = true;
    else if (p.spec.sign != '+')
      p.spec.sign = text[i];
  }
  if (i < text.size() && text[i] == '*') p.star_width = true, ++i;
  LOOM_TRY(p.spec.width, read_count(text, i));
  if (i < text.size() && text[i] == '.') {
    ++i;
    if (i < text.size() && text[i] == '*') p.star_precision = true, ++i;
    LOOM_TRY(const std::size_t precision, read_count(text, i));
    p.spec.precision = static_cast<std::int64_t>(precision);
  }
  if (p.star_width || p.star_precision) return fail(Code::Unsupported, "'*' in a format is not supported");
  p.spec.align = minus ? '<' : zero ? '=' : '>';
  if (zero && !minus) p.spec.fill = "0";
  if (i >= text.size()) return fail(Code::TemplateError, "incomplete format");
  p.spec.type = text[i++];
  return p;
}

Result<std::string> percent_value(Machine& m, const Value& v, Spec s) {
  const char type = s.type;
  if (type == 's' || type == 'r' || type == 'a') {
    LOOM_TRY(std::string shown, type == 's' ? to_str(m.heap, v) : to_repr(m.heap, v));
    if (s.align == '=') s.align = '>', s.fill = " ";
    return format_text(m, shown, s);
  }
  if (type == 'c' && v.is(Kind::String) && v.s().size() <= 4 && count_code_points(v.s()) == 1)
    return format_text(m, v.s(), s);
  if (v.undefined()) return undefined_error(v);
  if (!v.numeric())
    return fail(Code::TemplateError, "%{} format: a real number is required, not {}", type, type_name(v));
  if (std::string_view("eEfFgG").find(type) != std::string_view::npos) return format_float(m, v.f(), s);
  if (std::string_view("diuxXoc").find(type) == std::string_view::npos)
    return fail(Code::TemplateError, "unsupported format character '{}'", type);
  if (type == 'i' || type == 'u') s.type = 'd';
  if (v.is(Kind::Float)) {
    if (s.type != 'd') return fail(Code::TemplateError, "%{} format: an integer is required, not float", type);
    if (!(std::abs(v.f()) < 9e18)) return fail(Code::OutOfRange, "{} is too large to format as an integer", v.f());
    return format_integer(m, static_cast<std::int64_t>(v.f()), s);
  }
  return format_integer(m, v.i(), s);
}

}  // namespace

Result<Value> format_braces(Machine& m, const Value& text, const Arguments& args) {
  const bool markup = text.text().markup;
  Braces braces(m, args, markup);
  LOOM_TRY_VOID(braces.run(text.s(), 2));
  LOOM_TRY(std::string out, braces.finish());
  return m.string(std::move(out), markup);
}

Result<Value> format_percent(Machine& m, const Value& format, const Value& value) {
  const std::string_view text = format.s();
  LOOM_TRY_VOID(m.heap.decode(text.size()));
  const bool markup = format.text().markup;
  TextBuilder out(m.heap);
  std::size_t used = 0;
  const std::size_t given = value.is(Kind::Tuple) ? value.items().size() : 1;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t next = std::min(text.find('%', i), text.size());
    out.add(text.substr(i, next - i));
    i = next + 1;
    if (next == text.size()) break;
    LOOM_TRY_VOID(m.heap.tick());
    LOOM_TRY(const Percent p, parse_percent(text, i));
    if (p.spec.type == '%') {
      out.add('%');
      continue;
    }
    Value v;
    if (p.keyed) {
      if (!value.is(Kind::Dict)) return fail(Code::TemplateError, "format requires a mapping");
      const Value* found = value.dict().find(p.key);
      if (!found) return fail(Code::TemplateError, "{}", repr_string(p.key));
      v = *found;
      used = given;
    } else {
      if (used >= given) return fail(Code::TemplateError, "not enough arguments for format string");
      v = value.is(Kind::Tuple) ? value.items()[used] : value;
      ++used;
    }
    LOOM_TRY(const std::string shown, percent_value(m, v, p.spec));
    out.add(markup && !(v.is(Kind::String) && v.text().markup) ? escape_html(shown) : shown);
  }
  const bool subscriptable = value.is(Kind::Dict) || value.is(Kind::List) || value.is(Kind::Range) || value.undefined();
  if (used < given && !subscriptable)
    return fail(Code::TemplateError, "not all arguments converted during string formatting");
  LOOM_TRY(std::string all, out.finish());
  return m.string(std::move(all), markup);
}

}  // namespace loom::jinja
