// Grammar files of llama.cpp (its grammars/README.md).

#include <algorithm>
#include <map>

#include "grammar/frontends.h"
#include "text/unicode/utf8.h"

namespace loom::grammar {
namespace {

class GbnfParser {
 public:
  GbnfParser(std::string_view text, Rules& rules) : text_(text), rules_(rules) {}

  Result<RuleId> parse() {
    for (skip(true); more(); skip(true)) LOOM_TRY_VOID(rule());
    for (const auto& [name, id] : ids_)
      if (!defined_.contains(name))
        return fail(Code::InvalidArgument, "rule {} is used and not defined, expected \"{} ::= ...\"", name, name);
    const auto root = ids_.find("root");
    if (root == ids_.end())
      return fail(Code::InvalidArgument, "the grammar has no rule root, expected \"root ::= ...\"");
    return root->second;
  }

 private:
  static constexpr int kDeepest = 200;
  static constexpr std::uint32_t kMostRepeats = 65535;

  bool more() const { return at_ < text_.size(); }
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool take(std::string_view text) {
    if (!text_.substr(at_).starts_with(text)) return false;
    at_ += text.size();
    return true;
  }
  tl::unexpected<Error> bad(std::string_view what) const {
    const std::string_view before = text_.substr(0, std::min(at_, text_.size()));
    const std::size_t line = 1 + static_cast<std::size_t>(std::ranges::count(before, '\n'));
    const std::size_t begin = before.rfind('\n') == before.npos ? 0 : before.rfind('\n') + 1;
    return fail(Code::InvalidArgument, "line {}, byte {}: {}", line, before.size() - begin + 1, what);
  }
  void skip(bool newlines) {
    for (; more(); ++at_) {
      const char c = peek();
      if (c == '#') {
        while (more() && peek() != '\n' && peek() != '\r') ++at_;
        --at_;
      } else if (c != ' ' && c != '\t' && !(newlines && (c == '\n' || c == '\r'))) {
        return;
      }
    }
  }
  static bool is_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  }
  std::string_view name() {
    const std::size_t begin = at_;
    while (is_name(peek())) ++at_;
    return text_.substr(begin, at_ - begin);
  }
  RuleId id_of(std::string_view name) {
    const auto [found, is_new] = ids_.try_emplace(std::string(name), 0);
    if (is_new) found->second = rules_.add_rule(fmt::format("rule {}", name));
    return found->second;
  }

  Result<void> rule() {
    const std::string_view left = name();
    if (left.empty()) return bad("expected the name of a rule");
    const RuleId id = id_of(left);
    skip(false);
    if (!take("::=")) return bad(fmt::format("expected ::= after {}", left));
    if (!defined_.try_emplace(std::string(left), true).second)
      return bad(fmt::format("rule {} is defined twice", left));
    skip(true);
    LOOM_TRY(const ExprId expr, choice(0));
    rules_.define(id, expr);
    if (more() && peek() != '\n' && peek() != '\r') return bad("expected the end of the rule");
    return {};
  }

  Result<ExprId> choice(int depth) {
    if (depth > kDeepest) return fail(Code::LimitExceeded, "the grammar has groups deeper than {}", kDeepest);
    std::vector<ExprId> parts;
    do {
      skip(true);
      LOOM_TRY(const ExprId part, sequence(depth));
      parts.push_back(part);
    } while (take("|"));
    return rules_.choice(std::move(parts));
  }

  Result<ExprId> sequence(int depth) {
    std::vector<ExprId> parts;
    while (true) {
      skip(depth > 0);
      if (depth == 0 && (peek() == '\n' || peek() == '\r')) {
        // The next line goes on with | as its first character; other lines begin a rule.
        const std::size_t line_end = at_;
        skip(true);
        if (peek() != '|') at_ = line_end;
        break;
      }
      if (!more() || peek() == '|' || peek() == ')') break;
      LOOM_TRY(const ExprId part, repeated(depth));
      parts.push_back(part);
    }
    return rules_.sequence(std::move(parts));
  }

  Result<ExprId> repeated(int depth) {
    LOOM_TRY(ExprId part, atom(depth));
    while (true) {
      skip(depth > 0);
      if (take("*")) {
        part = rules_.repeat(part, 0);
      } else if (take("+")) {
        part = rules_.repeat(part, 1);
      } else if (take("?")) {
        part = rules_.optional(part);
      } else if (peek() == '{') {
        LOOM_TRY(part, braces(part));
      } else {
        return part;
      }
    }
  }

  Result<ExprId> braces(ExprId part) {
    ++at_;
    std::uint32_t min = 0, max = 0;
    if (!number(min)) return bad("expected a number after {");
    max = min;
    skip(false);
    if (take(",")) {
      skip(false);
      if (!number(max)) max = kForever;
    }
    skip(false);
    if (!take("}")) return bad("expected } after the numbers of a repetition");
    if (min > max) return bad("the least count of a repetition is above its greatest");
    if (min > kMostRepeats || (max > kMostRepeats && max != kForever))
      return fail(Code::LimitExceeded, "a repetition has more than {} copies", kMostRepeats);
    return rules_.repeat(part, min, max);
  }
  bool number(std::uint32_t& out) {
    const std::size_t begin = at_;
    for (out = 0; peek() >= '0' && peek() <= '9'; ++at_)
      out = std::min(out * 10 + static_cast<std::uint32_t>(peek() - '0'), kMostRepeats + 1);
    return at_ > begin;
  }

  Result<ExprId> atom(int depth) {
    if (peek() == '"') return literal();
    if (peek() == '[') return bracket();
    if (take(".")) return rules_.chars(complement({}));
    if (take("(")) {
      LOOM_TRY(const ExprId inner, choice(depth + 1));
      skip(true);
      if (!take(")")) return bad("expected )");
      return inner;
    }
    if (peek() == '<' || (peek() == '!' && peek(1) == '<')) return bad("a token in <> is not supported");
    const std::string_view used = name();
    if (used.empty()) return bad("expected a text in quotes, [characters], a group or the name of a rule");
    const std::size_t after = at_;
    skip(false);
    if (text_.substr(at_).starts_with("::=")) {
      at_ = after;
      return bad("expected the end of the rule before ::=");
    }
    at_ = after;
    return rules_.rule(id_of(used));
  }

  Result<ExprId> literal() {
    ++at_;
    std::string out;
    while (more() && peek() != '"') {
      LOOM_TRY(const std::uint32_t c, character());
      text::append_utf8(out, c);
    }
    if (!take("\"")) return bad("expected \" at the end of a text");
    return rules_.text(out);
  }

  Result<ExprId> bracket() {
    ++at_;
    const bool is_negated = take("^");
    CharSet set;
    while (more() && peek() != ']') {
      LOOM_TRY(const std::uint32_t first, character());
      std::uint32_t last = first;
      if (peek() == '-' && peek(1) != ']') {
        ++at_;
        if (!more()) break;
        LOOM_TRY(last, character());
        if (last < first) return bad("the range of characters is empty");
      }
      set.push_back({first, last});
    }
    if (!take("]")) return bad("expected ] at the end of characters");
    set = normalized(set);
    return rules_.chars(is_negated ? complement(set) : set);
  }

  Result<std::uint32_t> character() {
    if (take("\\")) return escape();
    const text::Decoded d = text::decode_utf8(text_.data() + at_, text_.data() + text_.size());
    if (d.code_point > kLastCodePoint) return bad("a byte that is no UTF-8");
    at_ += d.length;
    return d.code_point;
  }

  Result<std::uint32_t> escape() {
    if (!more()) return bad("expected a character after \\");
    const char c = peek();
    ++at_;
    std::size_t digits = 0;
    switch (c) {
      case 'n': return '\n';
      case 't': return '\t';
      case 'r': return '\r';
      case '\\':
      case '"':
      case '[':
      case ']':
      case '-':
      case '^': return static_cast<std::uint32_t>(c);
      case 'x': digits = 2; break;
      case 'u': digits = 4; break;
      case 'U': digits = 8; break;
      default: --at_; return bad("unknown escape after \\, expected one of n t r x u U \\ \" [ ] - ^");
    }
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < digits; ++i, ++at_) {
      const char d = peek();
      const int digit = d >= '0' && d <= '9'   ? d - '0'
                        : d >= 'a' && d <= 'f' ? d - 'a' + 10
                        : d >= 'A' && d <= 'F' ? d - 'A' + 10
                                               : -1;
      if (digit < 0) return bad(fmt::format("expected {} hexadecimal digits after \\{}", digits, c));
      value = value * 16 + static_cast<std::uint64_t>(digit);
    }
    if (value > kLastCodePoint || (value >= 0xD800 && value <= 0xDFFF)) return bad("the number is no character");
    return static_cast<std::uint32_t>(value);
  }

  std::string_view text_;
  Rules& rules_;
  std::size_t at_ = 0;
  std::map<std::string, RuleId> ids_;
  std::map<std::string, bool> defined_;
};

}  // namespace

Result<RuleId> compile_gbnf(std::string_view text, Rules& rules) { return GbnfParser(text, rules).parse(); }

}  // namespace loom::grammar
