#include <algorithm>
#include <limits>
#include <utility>

#include "text/regex/compiler.h"
#include "text/unicode/properties.h"

namespace loom::text {
namespace {

constexpr int kMaxDepth = 64;
constexpr std::uint32_t kMaxRepeat = 1000;
constexpr std::size_t kMaxClasses = 4096;

ClassItem categories(CategoryMask mask, bool negated) { return {ClassItem::Record, negated, mask, 0}; }
ClassItem white_space(bool negated) { return {ClassItem::Record, negated, 0, kWhiteSpace}; }
constexpr CategoryMask kDigits = 1u << static_cast<int>(Category::Nd);
// \w and [[:word:]], which differ in Latin-1.
ClassItem word(bool negated, std::uint32_t more) {
  return {ClassItem::Record, negated, kWordCategories, kAlphabetic | more};
}

using Ranges = std::vector<CodePointRange>;

bool is_hex_digit(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

CharClass class_of(const Ranges& ranges) {
  CharClass out;
  for (const CodePointRange& r : ranges) out.items.push_back({ClassItem::Range, false, r.first, r.last});
  return out;
}
CharClass hex_digits() { return class_of({{'0', '9'}, {'a', 'f'}, {'A', 'F'}}); }
// The characters that are printed with ink: no white space, no control, no surrogate, nothing unassigned.
CharClass graphic(bool with_spaces) {
  constexpr CategoryMask kNone = 1u << int(Category::Cc) | 1u << int(Category::Cs) | 1u << int(Category::Cn);
  CharClass out;
  out.negated = true;
  out.items.push_back(categories(kNone, false));
  if (with_spaces)
    out.items.push_back(categories(1u << int(Category::Zl) | 1u << int(Category::Zp), false));
  else
    out.items.push_back(white_space(false));
  return out;
}

CharClass blank_or_punct(bool blank) {
  CharClass out;
  out.items.push_back(categories(blank ? 1u << int(Category::Zs) : kPunctuation | kSymbols, false));
  if (blank) out.items.push_back({ClassItem::Range, false, '\t', '\t'});
  return out;
}

// Classes that stand in [: :] as well as after \p, where two of them differ.
struct CommonClass {
  std::string_view name;
  CategoryMask mask;
  std::uint32_t flags;
};
constexpr CommonClass kCommonClasses[] = {
    {"alnum", kDigits, kAlphabetic}, {"alpha", 0, kAlphabetic}, {"cntrl", 1u << int(Category::Cc), 0},
    {"digit", kDigits, 0},           {"lower", 0, kLowercase},  {"space", 0, kWhiteSpace},
    {"upper", 0, kUppercase}};

}  // namespace

tl::unexpected<Error> RegexParser::bad(std::string_view what) const {
  return fail(Code::CorruptData, "pattern, byte {}: {}", at_, what);
}
tl::unexpected<Error> RegexParser::unsupported(std::string_view what) const {
  return fail(Code::Unsupported, "pattern, byte {}: {} is not supported", at_, what);
}

Result<void> RegexParser::check_depth(int depth) const {
  if (depth > kMaxDepth) return fail(Code::LimitExceeded, "pattern is nested deeper than {}", kMaxDepth);
  if (stack_.reached())
    return fail(Code::LimitExceeded, "pattern is nested deeper than the stack of this thread allows");
  return {};
}

bool RegexParser::take(std::string_view text) {
  if (pattern_.substr(at_, text.size()) != text) return false;
  at_ += text.size();
  return true;
}

std::uint32_t RegexParser::code_point() {
  const Decoded d = decode_utf8(pattern_.data() + at_, pattern_.data() + pattern_.size());
  at_ += d.length;
  return d.code_point;
}

RegexTree RegexParser::leaf(RegexNode::Kind kind, std::uint32_t value) const {
  auto node = std::make_unique<RegexNode>();
  node->kind = kind;
  node->value = value;
  node->ignore_case = flags_.ignore_case;
  node->folds_to_texts = behind_ == 0;
  return node;
}

RegexTree RegexParser::class_node(CharClass c) { return leaf(RegexNode::Class, classes_.add(std::move(c))); }

ClassItem RegexParser::nested(CharClass c, bool negated) {
  return {ClassItem::Nested, negated, classes_.add(std::move(c)), 0};
}

// A class that ignores case also matches the several characters that one of its own folds to, as [\u00DF] does "ss".
RegexTree RegexParser::with_folded_texts(CharClass c) {
  const bool can_fold = c.ignore_case && !c.negated && behind_ == 0;
  RegexTree one = class_node(std::move(c));
  if (!can_fold) return one;
  auto all = leaf(RegexNode::Alternate, 0);
  const std::uint32_t index = one->value;
  all->children.push_back(std::move(one));
  for (std::size_t i = 0; i < tables::kNumFullFold; ++i) {
    const tables::FullFold& fold = tables::kFullFold[i];
    if (!classes_.contains(index, fold.from)) continue;
    auto text = leaf(RegexNode::Concat, 0);
    for (const std::uint32_t to : fold.to)
      if (to != 0) text->children.push_back(leaf(RegexNode::Char, to));
    all->children.push_back(std::move(text));
  }
  return all->children.size() > 1 ? std::move(all) : std::move(all->children[0]);
}

Result<RegexTree> RegexParser::parse() {
  LOOM_TRY(auto tree, alternation(0));
  if (more()) return bad("unmatched )");
  return tree;
}

Result<RegexTree> RegexParser::alternation(int depth) {
  LOOM_TRY_VOID(check_depth(depth));
  const Flags outer = flags_;  // flags set inside a group end with it
  auto node = leaf(RegexNode::Alternate, 0);
  do {
    LOOM_TRY(auto branch, sequence(depth));
    node->children.push_back(std::move(branch));
  } while (take("|"));
  flags_ = outer;
  if (node->children.size() == 1) return std::move(node->children[0]);
  return node;
}

Result<RegexTree> RegexParser::sequence(int depth) {
  auto node = leaf(RegexNode::Concat, 0);
  for (skip_comments(); more() && peek() != '|' && peek() != ')'; skip_comments()) {
    LOOM_TRY(auto a, atom(depth));
    LOOM_TRY(auto q, quantified(std::move(a)));
    node->children.push_back(std::move(q));
  }
  return node->children.size() == 1 ? std::move(node->children[0]) : std::move(node);
}

// (?#..), and with the flag x white space and # to the end of a line.
void RegexParser::skip_comments() {
  while (more()) {
    if (pattern_.substr(at_, 3) == "(?#") {
      const std::size_t close = pattern_.find(')', at_);
      if (close == pattern_.npos) return;  // the group is then refused
      at_ = close + 1;
    } else if (flags_.extended && std::string_view(" \t\n\v\f\r").find(peek()) != std::string_view::npos) {
      ++at_;
    } else if (flags_.extended && peek() == '#') {
      at_ = std::min(pattern_.find('\n', at_), pattern_.size());
    } else {
      return;
    }
  }
}

Result<RegexTree> RegexParser::atom(int depth) {
  if (classes_.size() > kMaxClasses)
    return fail(Code::LimitExceeded, "pattern has more than {} character classes", kMaxClasses);
  if (take("(")) return group(depth + 1);
  if (take("[")) {
    LOOM_TRY(auto c, bracket(depth + 1));
    return with_folded_texts(std::move(c));
  }
  if (take(".")) return leaf(RegexNode::Any, flags_.dot_all ? 1 : 0);
  if (take("\\")) return escape();
  if (peek() == '*' || peek() == '+' || peek() == '?') return bad("nothing to repeat");
  if (peek() == '{') {
    std::uint32_t min = 0, max = 0;
    bool is_fixed = false;
    LOOM_TRY(const bool repeats, braces(min, max, is_fixed));
    if (repeats) return bad("nothing to repeat");
  }
  auto assertion = leaf(RegexNode::Assert, 0);
  if (take("^")) {
    assertion->assertion = Regex::Op::LineStart;
    return assertion;
  }
  if (take("$")) {
    assertion->assertion = Regex::Op::LineEnd;
    return assertion;
  }
  return leaf(RegexNode::Char, code_point());
}

Result<RegexTree> RegexParser::look(bool behind, bool negated, int depth) {
  behind_ += behind ? 1 : 0;
  LOOM_TRY(auto inner, alternation(depth));
  behind_ -= behind ? 1 : 0;
  if (!take(")")) return bad("missing )");
  auto node = leaf(behind ? RegexNode::Behind : RegexNode::Look, 0);
  node->negated = negated;
  node->children.push_back(std::move(inner));
  return node;
}

Result<RegexTree> RegexParser::group(int depth) {
  if (take("?=")) return look(false, false, depth);
  if (take("?!")) return look(false, true, depth);
  if (take("?<=")) return look(true, false, depth);
  if (take("?<!")) return look(true, true, depth);
  if (take("?(")) return unsupported("a conditional group");
  if (take("?~")) return unsupported("an absence operator");
  const bool atomic = take("?>");
  const Flags outer = flags_;
  bool is_bare = atomic;  // (?:..), which a quantifier treats as what is in it
  const char close = pattern_.substr(at_, 2) == "?<" ? '>' : pattern_.substr(at_, 2) == "?'" ? '\'' : '\0';
  if (!atomic && close != '\0') {  // a name; the group is not captured
    at_ += 2;
    const std::size_t end = pattern_.find(close, at_);
    if (end == pattern_.npos || end == at_) return bad("a group name without end");
    at_ = end + 1;
  } else if (!atomic && take("?")) {
    LOOM_TRY_VOID(inline_flags());
    if (take(")")) {  // (?i): for the rest of the enclosing group
      auto rest = leaf(RegexNode::Concat, 0);
      LOOM_TRY(auto inner, alternation(depth));
      rest->children.push_back(std::move(inner));
      return rest;
    }
    is_bare = pattern_[at_ - 1] == '?';
    if (!take(":")) return unsupported("this kind of group");
  }
  auto inner = alternation(depth);
  flags_ = outer;
  if (!inner) return inner;
  if (!take(")")) return bad("missing )");
  if (!atomic && is_bare) return inner;
  auto node = leaf(atomic ? RegexNode::Atomic : RegexNode::Concat, 0);
  node->children.push_back(std::move(*inner));
  return node;
}

Result<void> RegexParser::inline_flags() {
  bool on = true;
  for (; more(); ++at_) {
    switch (peek()) {
      case '-': on = false; break;
      case 'i': flags_.ignore_case = on; break;
      case 'm': flags_.dot_all = on; break;  // Ruby: dot matches a newline
      case 'x': flags_.extended = on; break;
      case ':':
      case ')': return {};
      default: return unsupported("this flag");
    }
  }
  return bad("missing )");
}

// `is_fixed`: {n}, without a comma.
Result<bool> RegexParser::braces(std::uint32_t& min, std::uint32_t& max, bool& is_fixed) {
  const std::size_t start = at_;
  ++at_;
  const auto number = [&](std::uint32_t& out) {
    const std::size_t first = at_;
    out = 0;
    for (; more() && peek() >= '0' && peek() <= '9'; ++at_)
      if (out <= kMaxRepeat) out = out * 10 + static_cast<std::uint32_t>(peek() - '0');
    return at_ > first;
  };
  const bool has_min = number(min);
  bool has_max = has_min;
  max = min;
  is_fixed = !take(",");
  if (!is_fixed) {
    has_max = number(max);
    if (!has_max) max = kForever;
  }
  if ((!has_min && !has_max) || !take("}")) {
    at_ = start;  // a brace that starts no quantifier is itself
    return false;
  }
  if (!has_min) min = 0;
  if (min > kMaxRepeat || (max != kForever && max > kMaxRepeat))
    return fail(Code::LimitExceeded, "pattern repeats more than {} times", kMaxRepeat);
  return true;
}

namespace {

// Anchors and look-arounds are not repeated.
bool cannot_repeat(const RegexNode& node) {
  if (node.kind == RegexNode::Assert || node.kind == RegexNode::Look || node.kind == RegexNode::Behind) return true;
  return node.kind == RegexNode::Alternate &&
         std::ranges::any_of(node.children, [](const RegexTree& c) { return cannot_repeat(*c); });
}

// The quantifiers ? * + ?? *? +? by number; -1 for others.
int simple_quantifier(const RegexNode& node) {
  if (node.kind != RegexNode::Repeat || node.mode == Regex::Possessive) return -1;
  const int base = node.min == 0 && node.max == 1          ? 0
                   : node.min == 0 && node.max == kForever ? 1
                   : node.min == 1 && node.max == kForever ? 2
                                                           : -1;
  return base < 0 ? -1 : base + (node.mode == Regex::Lazy ? 3 : 0);
}

// Oniguruma makes one quantifier of two, so that (?:a*?)* is a*?. Returns the outer node with the inner one joined.
RegexTree joined_quantifiers(RegexTree outer) {
  enum : std::uint8_t { Keep, Inner, Star, LazyStar, LazyOptional, PlusOptional };
  constexpr std::uint8_t kJoined[6][6] = {
      // by the inner one, then the outer one
      {Inner, Star, Star, LazyOptional, LazyStar, Keep}, {Inner, Inner, Inner, PlusOptional, PlusOptional, Inner},
      {Star, Star, Inner, Keep, PlusOptional, Inner},    {Inner, LazyStar, LazyStar, Inner, LazyStar, LazyStar},
      {Inner, Inner, Inner, Inner, Inner, Inner},        {Keep, Star, Keep, LazyStar, LazyStar, Inner}};
  RegexNode& inner = *outer->children[0];
  const int in = simple_quantifier(inner), out = simple_quantifier(*outer);
  if (in < 0 || out < 0) return outer;
  const auto set = [&](std::uint32_t max, Regex::Mode mode) { inner.min = 0, inner.max = max, inner.mode = mode; };
  switch (kJoined[in][out]) {
    case Keep: return outer;
    case Star: set(kForever, Regex::Greedy); break;
    case LazyStar: set(kForever, Regex::Lazy); break;
    case LazyOptional: set(1, Regex::Lazy); break;
    case PlusOptional:
      inner.min = 1, inner.max = kForever, inner.mode = Regex::Greedy;
      outer->min = 0, outer->max = 1, outer->mode = Regex::Lazy;
      return outer;
    default: break;
  }
  return std::move(outer->children[0]);
}

}  // namespace

Result<RegexTree> RegexParser::quantified(RegexTree tree) {
  for (int times = 0; skip_comments(), more(); ++times) {
    std::uint32_t min = 0, max = kForever;
    bool counted = false, is_fixed = false;
    if (peek() == '{') {
      LOOM_TRY(counted, braces(min, max, is_fixed));
      if (!counted) return tree;
    } else if (take("+")) {
      min = 1;
    } else if (take("?")) {
      max = 1;
    } else if (!take("*")) {
      return tree;
    }
    // Oniguruma: {3,1} is {1,3} without giving back, and {2}? is an optional {2}.
    const bool is_possessive = max < min;
    if (is_possessive) std::swap(min, max);
    if (cannot_repeat(*tree)) return bad("an anchor or a look-around is repeated");
    if (times >= 4) return unsupported("a quantifier of a quantifier of a quantifier");
    if (counted && min == 1 && max == 1) {  // {1} is nothing: fi{1} are two characters side by side
      if (!is_fixed) take("?");
      continue;
    }
    auto node = leaf(RegexNode::Repeat, 0);
    node->min = min;
    node->max = max;
    const bool is_lazy = !is_possessive && !is_fixed && take("?");
    if (is_lazy)
      node->mode = Regex::Lazy;
    else if (is_possessive || (!counted && take("+")))  // Ruby: {m,n}+ is a repeated repeat
      node->mode = Regex::Possessive;
    node->children.push_back(std::move(tree));
    tree = joined_quantifiers(std::move(node));
  }
  return tree;
}

Result<std::uint32_t> RegexParser::hex(std::size_t digits) {
  std::uint32_t value = 0;
  const bool braced = take("{");
  std::size_t n = 0;
  for (; more() && n < (braced ? 8 : digits); ++n, ++at_) {
    const char c = peek();
    const int d = c >= '0' && c <= '9'   ? c - '0'
                  : c >= 'a' && c <= 'f' ? c - 'a' + 10
                  : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                         : -1;
    if (d < 0) break;
    value = value << 4 | static_cast<std::uint32_t>(d);
  }
  if (n == 0 || (braced && !take("}")) || value > kMaxCodePoint) return bad("bad hexadecimal escape");
  return value;
}

Result<std::uint32_t> RegexParser::octal(std::size_t digits) {
  std::uint32_t value = 0;
  for (std::size_t n = 0; more() && n < digits && peek() >= '0' && peek() <= '7'; ++n, ++at_)
    value = value * 8 + static_cast<std::uint32_t>(peek() - '0');
  if (value > kMaxCodePoint) return bad("bad octal escape");
  return value;
}

// Reads an escape that stands for one code point, after its backslash.
Result<std::uint32_t> RegexParser::single_escape() {
  if (!more()) return bad("pattern ends after \\");
  const char c = peek();
  switch (c) {
    case 'n': ++at_; return '\n';
    case 'r': ++at_; return '\r';
    case 't': ++at_; return '\t';
    case 'f': ++at_; return '\f';
    case 'v': ++at_; return '\v';
    case 'a': ++at_; return '\a';
    case 'e': ++at_; return 0x1B;
    case 'x': ++at_; return hex(2);
    case 'u':
      ++at_;
      for (std::size_t i = 0; i < 4; ++i)
        if (at_ + i >= pattern_.size() || !is_hex_digit(pattern_[at_ + i]))
          return bad("expected four hexadecimal digits after \\u");
      return hex(4);
    case 'o': {
      ++at_;
      if (!take("{")) return 'o';
      LOOM_TRY(const std::uint32_t value, octal(11));
      if (!take("}")) return bad("bad octal escape");
      return value;
    }
    case 'c':
    case 'C': {  // a control character
      ++at_;
      if (c == 'C' && !take("-")) return bad("expected - after \\C");
      if (!more()) return bad("pattern ends after \\c");
      if (peek() == '?') {
        ++at_;
        return 0x7F;
      }
      const std::uint32_t of = take("\\") ? 0x80 : code_point();
      if (of >= 0x80) return unsupported("a control character of this kind");
      return of & 0x9Fu;
    }
    case 'M': return unsupported("a meta character");
    case 'd':
    case 'D':
    case 's':
    case 'S':
    case 'w':
    case 'W':
    case 'h':
    case 'H': return bad("a range ends with a class");
    case 'p':
    case 'P':
      if (at_ + 1 < pattern_.size() && pattern_[at_ + 1] == '{') return bad("a range ends with a class");
      break;
    default: break;
  }
  if (c >= '0' && c <= '7') return octal(3);
  return code_point();  // any other character means itself
}

// Oniguruma takes the six superscripts and fractions of Latin-1 for word characters outside of brackets alone.
Result<ClassItem> RegexParser::property(bool negated, bool in_brackets) {
  take("{");
  if (take("^")) negated = !negated;
  const std::size_t close = pattern_.find('}', at_);
  if (close == std::string_view::npos) return bad("missing } after \\p{");
  const std::string name = loose_name(pattern_.substr(at_, close - at_));
  const std::size_t name_at = std::exchange(at_, close + 1);
  for (const CommonClass& c : kCommonClasses)
    if (name == c.name) return ClassItem{ClassItem::Record, negated, c.mask, c.flags};
  if (name == "word") return word(negated, in_brackets ? 0 : kLatin1Number);
  if (name == "any") return ClassItem{ClassItem::Range, negated, 0, kMaxCodePoint};
  if (name == "ascii") return ClassItem{ClassItem::Range, negated, 0, 127};
  if (name == "newline") return ClassItem{ClassItem::Range, negated, '\n', '\n'};
  if (name == "assigned") return categories(1u << int(Category::Cn), !negated);
  if (name == "unknown")
    return categories(1u << int(Category::Cn) | 1u << int(Category::Co) | 1u << int(Category::Cs), negated);
  if (name == "xdigit") return nested(hex_digits(), negated);
  if (name == "graph" || name == "print") return nested(graphic(name == "print"), negated);
  if (name == "blank" || name == "posixpunct") return nested(blank_or_punct(name == "blank"), negated);
  if (const CategoryMask mask = category_mask(name)) return categories(mask, negated);
  if (Ranges ranges; property_ranges(name, ranges)) return nested(class_of(ranges), negated);
  return fail(Code::Unsupported, "pattern, byte {}: property \\p{{{}}} is not supported", name_at,
              pattern_.substr(name_at, std::min<std::size_t>(close - name_at, 40)));
}

// Reads a class (single stays false) or one code point, after its backslash.
Result<ClassItem> RegexParser::class_escape(char letter, bool& single, bool in_brackets) {
  single = false;
  const bool negated = letter >= 'A' && letter <= 'Z';
  switch (letter) {
    case 's':
    case 'S': ++at_; return white_space(negated);
    case 'w':
    case 'W': ++at_; return word(negated, in_brackets ? 0 : kLatin1Number);
    case 'd':
    case 'D': ++at_; return categories(kDigits, negated);
    case 'p':
    case 'P':
      if (at_ + 1 >= pattern_.size() || pattern_[at_ + 1] != '{') break;  // the letter itself
      ++at_;
      return property(negated, in_brackets);
    case 'h':
    case 'H': ++at_; return nested(hex_digits(), negated);
    default: break;
  }
  single = true;
  LOOM_TRY(const auto c, single_escape());
  return ClassItem{ClassItem::Range, false, c, c};
}

// \R: a line break of one or two characters, which is not taken apart.
RegexTree RegexParser::line_break() {
  auto both = leaf(RegexNode::Concat, 0);
  both->ignore_case = false;
  for (const char c : {'\r', '\n'}) both->children.push_back(leaf(RegexNode::Char, static_cast<std::uint32_t>(c)));
  auto either = leaf(RegexNode::Alternate, 0);
  either->children.push_back(std::move(both));
  either->children.push_back(class_node(class_of({{'\n', '\r'}, {0x85, 0x85}, {0x2028, 0x2029}})));
  auto node = leaf(RegexNode::Atomic, 0);
  node->children.push_back(std::move(either));
  return node;
}

// Escapes outside of brackets that are neither a character nor a class of characters; null for another letter.
Result<RegexTree> RegexParser::special_escape(char letter) {
  struct Assertion {
    char letter;
    Regex::Op op;
  };
  constexpr Assertion assertions[] = {{'A', Regex::Op::TextStart},
                                      {'z', Regex::Op::TextEnd},
                                      {'Z', Regex::Op::TextEndLine},
                                      {'b', Regex::Op::WordEdge},
                                      {'B', Regex::Op::NotWordEdge}};
  for (const Assertion& a : assertions) {
    if (letter != a.letter) continue;
    auto node = leaf(RegexNode::Assert, 0);
    node->assertion = a.op;
    return node;
  }
  switch (letter) {
    case 'R': return line_break();
    case 'X': return leaf(RegexNode::Grapheme, 0);
    case 'N': return leaf(RegexNode::Any, 0);
    case 'O': return leaf(RegexNode::Any, 1);
    case 'K': return unsupported("\\K");
    case 'G': return unsupported("\\G");
    case 'y':
    case 'Y': return unsupported("a text segment boundary");
    case 'k': return unsupported("a back reference");
    case 'g': return unsupported("a call of a group");
    default: break;
  }
  return RegexTree();
}

Result<RegexTree> RegexParser::escape() {
  if (!more()) return bad("pattern ends after \\");
  const std::size_t start = at_;
  ++at_;
  LOOM_TRY(auto special, special_escape(pattern_[start]));
  if (special) return special;
  at_ = start;
  if (peek() >= '1' && peek() <= '9') {  // groups are not captured; two digits and more may be octal
    const bool has_more = at_ + 1 < pattern_.size() && pattern_[at_ + 1] >= '0' && pattern_[at_ + 1] <= '9';
    if (!has_more || peek() > '7') return unsupported("a back reference");
  }
  bool single = false;
  LOOM_TRY(const auto item, class_escape(peek(), single, false));
  if (single) return leaf(RegexNode::Char, item.a);
  CharClass c;
  c.items.push_back(item);
  return class_node(std::move(c));
}

Result<ClassItem> RegexParser::posix() {
  const bool negated = take("^");
  const std::size_t end = pattern_.find(":]", at_);
  const std::string_view name = pattern_.substr(at_, std::min(end, pattern_.size()) - at_);
  if (end == pattern_.npos || name.size() > 20) return unsupported("this [:class:]");
  at_ = end + 2;
  for (const CommonClass& c : kCommonClasses)
    if (name == c.name) return ClassItem{ClassItem::Record, negated, c.mask, c.flags};
  if (name == "word") return word(negated, 0);
  if (name == "punct" || name == "blank") return nested(blank_or_punct(name == "blank"), negated);
  if (name == "ascii") return ClassItem{ClassItem::Range, negated, 0, 127};
  if (name == "xdigit") return nested(hex_digits(), negated);
  if (name == "graph" || name == "print") return nested(graphic(name == "print"), negated);
  return unsupported("this [:class:]");
}

// Reads a class in brackets after its "[".
Result<CharClass> RegexParser::bracket(int depth, bool is_nested) {
  LOOM_TRY_VOID(check_depth(depth));
  CharClass out;
  out.ignore_case = flags_.ignore_case && !is_nested;
  out.negated = take("^");
  bool first = true;
  for (; more(); first = false) {
    if (peek() == ']' && !first) {
      ++at_;
      return out;
    }
    if (take("[:")) {
      LOOM_TRY(const auto item, posix());
      out.items.push_back(item);
      continue;
    }
    if (take("[")) {
      LOOM_TRY(auto inner, bracket(depth + 1, true));
      out.items.push_back({ClassItem::Nested, false, classes_.add(std::move(inner)), 0});
      continue;
    }
    if (take("&&")) {  // what follows, up to the bracket's end, must hold as well
      CharClass rest;
      if (!take("]")) {
        LOOM_TRY(rest, bracket(depth + 1, true));
      }
      out.intersected = static_cast<std::int32_t>(classes_.add(std::move(rest)));
      return out;
    }
    bool single = true;
    ClassItem item;
    if (take("\\")) {
      if (!more()) break;
      if (peek() == 'b') {
        ++at_;
        item = {ClassItem::Range, false, 8, 8};
      } else {
        LOOM_TRY(item, class_escape(peek(), single, true));
      }
    } else {
      const std::uint32_t c = code_point();
      item = {ClassItem::Range, false, c, c};
    }
    if (single && more() && peek() == '-' && at_ + 1 < pattern_.size() && pattern_[at_ + 1] != ']') {
      ++at_;
      LOOM_TRY(item.b, take("\\") ? single_escape() : Result<std::uint32_t>(code_point()));
      if (item.b < item.a) return bad("range ends before it starts");
    }
    out.items.push_back(item);
  }
  return bad("missing ]");
}

}  // namespace loom::text
