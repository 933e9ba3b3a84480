#include "text/template/lexer.h"

#include <algorithm>

#include "text/template/unicode.h"

namespace loom::jinja {
namespace {

bool is_digit_of(char c, int base) {
  if (base == 16) return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
  return c >= '0' && c < '0' + base;
}
bool is_name_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

// Line ends become \n and one at the very end goes, as in jinja2.
std::string normalised(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      out += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    } else {
      out += source[i];
    }
  }
  if (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

class Lexer {
 public:
  explicit Lexer(std::string text) : text_(std::move(text)), s_(text_) {}

  Result<std::vector<Token>> run() {
    while (pos_ < s_.size()) LOOM_TRY_VOID(root());
    push(TokenKind::End, {});
    return std::move(tokens_);
  }

 private:
  struct Start {
    std::size_t at = std::string_view::npos;
    bool raw = false;
    char sign = 0;
    std::size_t end = 0;  // after the tag's opening characters and sign (raw: after the whole tag)
  };

  bool at(std::string_view what) const { return s_.substr(pos_).substr(0, what.size()) == what; }
  template <class... Args>
  tl::unexpected<Error> error(fmt::format_string<Args...> text, Args&&... args) const {
    return fail(Code::TemplateError, "line {}: {}", line_, fmt::format(text, std::forward<Args>(args)...));
  }
  void push(TokenKind kind, std::string text) { tokens_.push_back({kind, line_, std::move(text)}); }
  void move_to(std::size_t end) {
    line_ += static_cast<std::uint32_t>(std::count(s_.begin() + static_cast<std::ptrdiff_t>(pos_),
                                                   s_.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
    line_starting_ = end > pos_ ? s_[end - 1] == '\n' : line_starting_;
    pos_ = end;
  }
  std::size_t skip_space(std::size_t i) const { return s_.size() - strip_left(s_.substr(i)).size(); }

  // The end of a block tag that starts at i ("%}" and its variants), or npos.
  std::size_t block_end(std::size_t i, std::string_view close) const {
    const std::string_view rest = s_.substr(i);
    if (rest.size() > close.size() && rest[0] == '+' && rest.substr(1, close.size()) == close)
      return i + 1 + close.size();
    if (rest.size() > close.size() && rest[0] == '-' && rest.substr(1, close.size()) == close)
      return skip_space(i + 1 + close.size());
    if (rest.substr(0, close.size()) != close) return std::string_view::npos;
    i += close.size();
    return i < s_.size() && s_[i] == '\n' ? i + 1 : i;
  }

  Start find_tag(std::size_t from) const {
    Start out;
    for (std::size_t i = s_.find('{', from); i != std::string_view::npos && i + 1 < s_.size();
         i = s_.find('{', i + 1)) {
      if (s_[i + 1] != '{' && s_[i + 1] != '%' && s_[i + 1] != '#') continue;
      out.at = i;
      out.end = i + 2;
      if (out.end < s_.size() && (s_[out.end] == '-' || s_[out.end] == '+')) out.sign = s_[out.end++];
      if (s_[i + 1] == '%') {
        const std::size_t word = skip_space(out.end);
        if (s_.substr(word, 3) == "raw") {
          const std::size_t end = skip_space(word + 3);
          if (s_.substr(end, 3) == "-%}")
            out.raw = true, out.end = skip_space(end + 3);
          else if (s_.substr(end, 2) == "%}")
            out.raw = true, out.end = end + 2;
        }
      }
      return out;
    }
    return out;
  }

  // The data before a tag, with white space taken away as the sign and lstrip_blocks say.
  std::string_view data_before(std::string_view text, char sign, bool variable) const {
    if (sign == '-') return strip_right(text);
    if (sign == '+' || variable) return text;
    const std::size_t newline = text.rfind('\n');
    const std::size_t line = newline == std::string_view::npos ? 0 : newline + 1;
    if ((line > 0 || line_starting_) && strip_left(text.substr(line)).empty()) return text.substr(0, line);
    return text;
  }

  Result<void> root() {
    const Start tag = find_tag(pos_);
    if (tag.at == std::string_view::npos) {
      push(TokenKind::Data, std::string(s_.substr(pos_)));
      move_to(s_.size());
      return {};
    }
    const char type = s_[tag.at + 1];
    const std::string_view data = data_before(s_.substr(pos_, tag.at - pos_), tag.sign, type == '{');
    if (!data.empty()) push(TokenKind::Data, std::string(data));
    move_to(tag.at);
    move_to(tag.end);
    if (tag.raw) return raw();
    if (type == '#') return comment();
    push(type == '{' ? TokenKind::VariableBegin : TokenKind::BlockBegin, {});
    return inside(type == '{');
  }

  Result<void> comment() {
    for (std::size_t i = s_.find("#}", pos_); i != std::string_view::npos; i = s_.find("#}", i + 1)) {
      const std::size_t sign = i > pos_ && (s_[i - 1] == '-' || s_[i - 1] == '+') ? i - 1 : i;
      move_to(block_end(sign, "#}"));
      return {};
    }
    return error("the comment is never closed by \"#}}\"");
  }

  Result<void> raw() {
    for (std::size_t i = s_.find("{%", pos_); i != std::string_view::npos; i = s_.find("{%", i + 1)) {
      std::size_t word = i + 2;
      const char sign = word < s_.size() && (s_[word] == '-' || s_[word] == '+') ? s_[word++] : '\0';
      word = skip_space(word);
      if (s_.substr(word, 6) != "endraw") continue;
      const std::size_t end = block_end(skip_space(word + 6), "%}");
      if (end == std::string_view::npos) continue;
      const std::string_view data = data_before(s_.substr(pos_, i - pos_), sign, false);
      if (!data.empty()) push(TokenKind::Data, std::string(data));
      move_to(end);
      return {};
    }
    return error("the raw block is never closed by endraw");
  }

  Result<void> inside(bool variable) {
    std::string balance;
    while (pos_ < s_.size()) {
      if (balance.empty()) {
        std::size_t end = std::string_view::npos;
        if (!variable)
          end = block_end(pos_, "%}");
        else if (at("-}}"))
          end = skip_space(pos_ + 3);
        else if (at("}}"))
          end = pos_ + 2;
        if (end != std::string_view::npos) {
          push(variable ? TokenKind::VariableEnd : TokenKind::BlockEnd, {});
          move_to(end);
          return {};
        }
      }
      if (const std::size_t end = skip_space(pos_); end != pos_) {
        move_to(end);
        continue;
      }
      LOOM_TRY_VOID(token(balance));
    }
    return {};  // the parser reports the missing end
  }

  // A digit run "1_000" from i on; its end.
  std::size_t digits(std::size_t i, int base) const {
    while (i < s_.size()) {
      if (is_digit_of(s_[i], base))
        ++i;
      else if (s_[i] == '_' && i + 1 < s_.size() && is_digit_of(s_[i + 1], base))
        i += 2;
      else
        break;
    }
    return i;
  }

  std::size_t float_end() const {
    if (pos_ > 0 && s_[pos_ - 1] == '.') return pos_;
    const std::size_t whole = digits(pos_, 10);
    std::size_t end = whole, fraction = whole;
    if (whole + 1 < s_.size() && s_[whole] == '.' && is_digit_of(s_[whole + 1], 10))
      end = fraction = digits(whole + 1, 10);
    if (fraction < s_.size() && (s_[fraction] == 'e' || s_[fraction] == 'E')) {
      std::size_t exponent = fraction + 1;
      if (exponent < s_.size() && (s_[exponent] == '+' || s_[exponent] == '-')) ++exponent;
      if (exponent < s_.size() && is_digit_of(s_[exponent], 10)) end = digits(exponent, 10);
    }
    return end == whole ? pos_ : end;
  }

  std::size_t integer_end() const {
    if (s_[pos_] != '0') return digits(pos_, 10);
    const char mark = pos_ + 1 < s_.size() ? static_cast<char>(s_[pos_ + 1] | 0x20) : ' ';
    const int base = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 0;
    if (base != 0) {
      const std::size_t end = digits(pos_ + 2, base);
      if (end > pos_ + 2) return end;
    }
    return digits(pos_, 1);  // zeros only: 007 is two numbers
  }

  void number(TokenKind kind, std::size_t end) {
    std::string text(s_.substr(pos_, end - pos_));
    std::erase(text, '_');
    push(kind, std::move(text));
    move_to(end);
  }

  Result<void> token(std::string& balance) {
    const char c = s_[pos_];
    if (is_digit_of(c, 10)) {
      const std::size_t end = float_end();
      if (end > pos_)
        number(TokenKind::Float, end);
      else
        number(TokenKind::Integer, integer_end());
      return {};
    }
    if (is_name_byte(c)) {
      std::size_t end = pos_;
      while (end < s_.size() && is_name_byte(s_[end])) ++end;
      push(TokenKind::Name, std::string(s_.substr(pos_, end - pos_)));
      move_to(end);
      return {};
    }
    if (c == '"' || c == '\'') return string(c);
    return op(balance);
  }

  Result<void> op(std::string& balance) {
    static constexpr std::string_view kTwo[] = {"//", "**", "==", "!=", ">=", "<="};
    const std::string_view two = s_.substr(pos_, 2);
    std::size_t size = std::find(std::begin(kTwo), std::end(kTwo), two) != std::end(kTwo) ? 2 : 1;
    const char c = s_[pos_];
    if (size == 1 && std::string_view("+-/*%~[](){}<>=.:|,;").find(c) == std::string_view::npos)
      return error("unexpected character {}", repr(c));
    if (c == '(' || c == '[' || c == '{') balance += c == '(' ? ')' : c == '[' ? ']' : '}';
    if (c == ')' || c == ']' || c == '}') {
      if (balance.empty()) return error("unexpected '{}'", c);
      if (balance.back() != c) return error("unexpected '{}', expected '{}'", c, balance.back());
      balance.pop_back();
    }
    push(TokenKind::Operator, std::string(s_.substr(pos_, size)));
    move_to(pos_ + size);
    return {};
  }
  static std::string repr(char c) {
    return c > 32 && c < 127 ? fmt::format("'{}'", c) : fmt::format("0x{:02x}", static_cast<unsigned char>(c));
  }

  Result<void> string(char quote) {
    std::size_t end = pos_ + 1;
    while (end < s_.size() && s_[end] != quote) end += s_[end] == '\\' ? 2 : 1;
    if (end >= s_.size()) return error("the string is never closed");
    LOOM_TRY(auto text, unescaped(s_.substr(pos_ + 1, end - pos_ - 1)));
    push(TokenKind::String, std::move(text));
    move_to(end + 1);
    return {};
  }

  Result<std::string> unescaped(std::string_view raw) const {
    std::string out;
    out.reserve(raw.size());
    for (std::size_t i = 0; i < raw.size();) {
      if (raw[i] != '\\') {
        out += raw[i++];
        continue;
      }
      const char c = raw[i + 1];
      i += 2;
      switch (c) {
        case '\n': break;
        case '\\':
        case '\'':
        case '"': out += c; break;
        case 'a': out += '\a'; break;
        case 'b': out += '\b'; break;
        case 'f': out += '\f'; break;
        case 'n': out += '\n'; break;
        case 'r': out += '\r'; break;
        case 't': out += '\t'; break;
        case 'v': out += '\v'; break;
        case 'x':
        case 'u':
        case 'U': LOOM_TRY_VOID(hex_escape(raw, i, c == 'x' ? 2 : c == 'u' ? 4 : 8, out)); break;
        case 'N': return fail(Code::Unsupported, "line {}: \\N{{...}} escapes are not supported", line_);
        default: octal_or_plain(raw, i, c, out);
      }
    }
    return out;
  }

  Result<void> hex_escape(std::string_view raw, std::size_t& i, std::size_t digits, std::string& out) const {
    std::uint32_t value = 0;
    for (std::size_t k = 0; k < digits; ++k, ++i) {
      if (i >= raw.size() || !is_digit_of(raw[i], 16)) return error("truncated \\x, \\u or \\U escape");
      value = value << 4 | static_cast<std::uint32_t>(raw[i] <= '9' ? raw[i] - '0' : (raw[i] | 0x20) - 'a' + 10);
    }
    if (value > 0x10ffff || (value >= 0xd800 && value < 0xe000))
      return error("escape of U+{:X}, which is no character", value);
    append_utf8(out, value);
    return {};
  }

  static void octal_or_plain(std::string_view raw, std::size_t& i, char c, std::string& out) {
    if (is_digit_of(c, 8)) {
      std::uint32_t value = static_cast<std::uint32_t>(c - '0');
      for (int k = 0; k < 2 && i < raw.size() && is_digit_of(raw[i], 8); ++k, ++i)
        value = value * 8 + static_cast<std::uint32_t>(raw[i] - '0');
      append_utf8(out, value);
      return;
    }
    out += '\\';
    if (static_cast<unsigned char>(c) < 0x80) {
      out += c;
      return;
    }
    // jinja2 escapes what is not ASCII before it decodes, so the character's own escape loses its backslash to ours.
    const CodePoint p = decode_at(raw, i - 1);
    const auto v = static_cast<std::uint32_t>(p.value);
    out += v < 0x100 ? fmt::format("x{:02x}", v) : v < 0x10000 ? fmt::format("u{:04x}", v) : fmt::format("U{:08x}", v);
    i += p.size - 1;
  }

  std::string text_;
  std::string_view s_;
  std::size_t pos_ = 0;
  std::uint32_t line_ = 1;
  bool line_starting_ = true;
  std::vector<Token> tokens_;
};

}  // namespace

Result<std::vector<Token>> tokenize(std::string_view source) { return Lexer(normalised(source)).run(); }

}  // namespace loom::jinja
