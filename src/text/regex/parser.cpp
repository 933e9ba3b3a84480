#include <limits>

#include "text/regex/compiler.h"

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

// \p{name}: general categories, their groups and the few properties that tokenizers use. 0: unknown.
CategoryMask mask_of(std::string_view name) {
  for (int i = 0; i < kNumCategories; ++i)
    if (name == kCategoryNames[i]) return 1u << i;
  struct Group {
    std::string_view name;
    CategoryMask mask;
  };
  constexpr Group groups[] = {{"L", kLetters},
                              {"Letter", kLetters},
                              {"M", kMarks},
                              {"Mark", kMarks},
                              {"N", kNumbers},
                              {"Number", kNumbers},
                              {"P", kPunctuation},
                              {"Punct", kPunctuation},
                              {"Punctuation", kPunctuation},
                              {"S", kSymbols},
                              {"Symbol", kSymbols},
                              {"Z", kSeparators},
                              {"Separator", kSeparators},
                              {"C", kOthers},
                              {"Other", kOthers},
                              {"LC", 7}};
  for (const Group& g : groups)
    if (name == g.name) return g.mask;
  return 0;
}

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
  node->ignore_case = ignore_case_;
  return node;
}

RegexTree RegexParser::class_node(CharClass c) { return leaf(RegexNode::Class, classes_.add(std::move(c))); }

Result<RegexTree> RegexParser::parse() {
  LOOM_TRY(auto tree, alternation(0));
  if (more()) return bad("unmatched )");
  return tree;
}

Result<RegexTree> RegexParser::alternation(int depth) {
  LOOM_TRY_VOID(check_depth(depth));
  const bool ignore_case = ignore_case_, dot_all = dot_all_;  // flags set inside a group end with it
  auto node = leaf(RegexNode::Alternate, 0);
  do {
    LOOM_TRY(auto branch, sequence(depth));
    node->children.push_back(std::move(branch));
  } while (take("|"));
  ignore_case_ = ignore_case;
  dot_all_ = dot_all;
  if (node->children.size() == 1) return std::move(node->children[0]);
  return node;
}

Result<RegexTree> RegexParser::sequence(int depth) {
  auto node = leaf(RegexNode::Concat, 0);
  while (more() && peek() != '|' && peek() != ')') {
    LOOM_TRY(auto a, atom(depth));
    LOOM_TRY(auto q, quantified(std::move(a)));
    node->children.push_back(std::move(q));
  }
  return node;
}

Result<RegexTree> RegexParser::atom(int depth) {
  if (classes_.size() > kMaxClasses)
    return fail(Code::LimitExceeded, "pattern has more than {} character classes", kMaxClasses);
  if (take("(")) return group(depth + 1);
  if (take("[")) {
    LOOM_TRY(auto c, bracket(depth + 1));
    return class_node(std::move(c));
  }
  if (take(".")) return leaf(RegexNode::Any, dot_all_ ? 1 : 0);
  if (take("\\")) return escape();
  if (peek() == '*' || peek() == '+' || peek() == '?') return bad("nothing to repeat");
  auto assertion = leaf(RegexNode::Assert, 0);
  if (take("^")) return assertion->assertion = Regex::Op::LineStart, std::move(assertion);
  if (take("$")) return assertion->assertion = Regex::Op::LineEnd, std::move(assertion);
  return leaf(RegexNode::Char, code_point());
}

Result<RegexTree> RegexParser::look(bool behind, bool negated, int depth) {
  LOOM_TRY(auto inner, alternation(depth));
  if (!take(")")) return bad("missing )");
  auto node = leaf(behind ? RegexNode::Behind : RegexNode::Look, 0);
  node->negated = negated;
  if (!behind) {
    node->children.push_back(std::move(inner));
    return node;
  }
  const RegexNode* one = inner.get();
  while (one->kind == RegexNode::Concat && one->children.size() == 1) one = one->children[0].get();
  if (one->kind == RegexNode::Char) {
    CharClass c;
    c.ignore_case = one->ignore_case;
    c.items.push_back({ClassItem::Range, false, one->value, one->value});
    node->value = classes_.add(std::move(c));
  } else if (one->kind == RegexNode::Class) {
    node->value = one->value;
  } else {
    return unsupported("look-behind over more than one character");
  }
  return node;
}

Result<RegexTree> RegexParser::group(int depth) {
  if (take("?=")) return look(false, false, depth);
  if (take("?!")) return look(false, true, depth);
  if (take("?<=")) return look(true, false, depth);
  if (take("?<!")) return look(true, true, depth);
  const bool atomic = take("?>");
  bool ignore_case = ignore_case_, dot_all = dot_all_;
  if (!atomic && take("?<")) {  // a name; the group is not captured
    while (more() && peek() != '>') ++at_;
    if (!take(">")) return bad("missing > after a group name");
  } else if (!atomic && take("?")) {
    LOOM_TRY_VOID(inline_flags(ignore_case, dot_all));
    if (take(")")) {  // (?i): for the rest of the enclosing group
      ignore_case_ = ignore_case;
      dot_all_ = dot_all;
      LOOM_TRY(auto rest, alternation(depth));
      return rest;
    }
    if (!take(":")) return unsupported("this kind of group");
  }
  const bool outer_case = ignore_case_, outer_dot = dot_all_;
  ignore_case_ = ignore_case;
  dot_all_ = dot_all;
  auto inner = alternation(depth);
  ignore_case_ = outer_case;
  dot_all_ = outer_dot;
  if (!inner) return inner;
  if (!take(")")) return bad("missing )");
  if (!atomic) return inner;
  auto node = leaf(RegexNode::Atomic, 0);
  node->children.push_back(std::move(*inner));
  return node;
}

Result<void> RegexParser::inline_flags(bool& ignore_case, bool& dot_all) {
  bool on = true;
  for (; more(); ++at_) {
    switch (peek()) {
      case '-': on = false; break;
      case 'i': ignore_case = on; break;
      case 'm': dot_all = on; break;  // Ruby: dot matches a newline
      case ':':
      case ')': return {};
      default: return unsupported("this flag");
    }
  }
  return bad("missing )");
}

Result<bool> RegexParser::braces(std::uint32_t& min, std::uint32_t& max) {
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
  if (take(",")) {
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
  if (max < min) return bad("{m,n} with m > n");
  return true;
}

Result<RegexTree> RegexParser::quantified(RegexTree tree) {
  for (int times = 0; more(); ++times) {
    std::uint32_t min = 0, max = kForever;
    bool counted = false;
    if (peek() == '{') {
      LOOM_TRY(counted, braces(min, max));
      if (!counted) return tree;
    } else if (take("+")) {
      min = 1;
    } else if (take("?")) {
      max = 1;
    } else if (!take("*")) {
      return tree;
    }
    if (times >= 4) return unsupported("a quantifier of a quantifier of a quantifier");
    auto node = leaf(RegexNode::Repeat, 0);
    node->min = min;
    node->max = max;
    if (take("?"))
      node->mode = Regex::Lazy;
    else if (!counted && take("+"))
      node->mode = Regex::Possessive;  // Ruby: {m,n}+ is a repeated repeat
    node->children.push_back(std::move(tree));
    tree = std::move(node);
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

// Reads an escape that stands for one code point, from behind its backslash.
Result<std::uint32_t> RegexParser::single_escape() {
  if (!more()) return bad("pattern ends after \\");
  const char c = peek();
  switch (c) {
    case 'n': return ++at_, '\n';
    case 'r': return ++at_, '\r';
    case 't': return ++at_, '\t';
    case 'f': return ++at_, '\f';
    case 'v': return ++at_, '\v';
    case 'a': return ++at_, '\a';
    case 'e': return ++at_, 0x1B;
    case '0': return ++at_, 0;
    case 'x': return ++at_, hex(2);
    case 'u': return ++at_, hex(4);
    default: break;
  }
  if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '1' && c <= '9')) return unsupported("this escape");
  return code_point();
}

Result<ClassItem> RegexParser::property(bool negated) {
  if (!take("{")) return bad("expected { after \\p");
  if (take("^")) negated = !negated;
  const std::size_t close = pattern_.find('}', at_);
  if (close == std::string_view::npos) return bad("missing } after \\p{");
  const std::string_view name = pattern_.substr(at_, close - at_);
  const CategoryMask mask = mask_of(name);
  ClassItem item = categories(mask, negated);
  if (name == "White_Space" || name == "Space")
    item = white_space(negated);
  else if (name == "Word")
    item = word(negated, kLatin1Number);
  else if (name == "Any")
    item = {ClassItem::Range, negated, 0, kInvalidByte + 255};
  else if (mask == 0)
    return fail(Code::Unsupported, "pattern, byte {}: property \\p{{{}}} is not supported", at_, name.substr(0, 40));
  at_ = close + 1;
  return item;
}

// Reads a class (single stays false) or one code point, from behind its backslash.
Result<ClassItem> RegexParser::class_escape(char letter, bool& single) {
  single = false;
  const bool negated = letter >= 'A' && letter <= 'Z';
  switch (letter) {
    case 's':
    case 'S': return ++at_, white_space(negated);
    case 'w':
    case 'W': return ++at_, word(negated, kLatin1Number);
    case 'd':
    case 'D': return ++at_, categories(kDigits, negated);
    case 'p':
    case 'P': return ++at_, property(negated);
    case 'h':
    case 'H': {
      ++at_;
      CharClass digits;
      for (const auto& [a, b] : {std::pair{'0', '9'}, std::pair{'a', 'f'}, std::pair{'A', 'F'}})
        digits.items.push_back({ClassItem::Range, false, static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b)});
      return ClassItem{ClassItem::Nested, negated, classes_.add(std::move(digits)), 0};
    }
    default: break;
  }
  single = true;
  LOOM_TRY(const auto c, single_escape());
  return ClassItem{ClassItem::Range, false, c, c};
}

Result<RegexTree> RegexParser::escape() {
  if (!more()) return bad("pattern ends after \\");
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
    if (peek() != a.letter) continue;
    ++at_;
    auto node = leaf(RegexNode::Assert, 0);
    node->assertion = a.op;
    return node;
  }
  bool single = false;
  LOOM_TRY(const auto item, class_escape(peek(), single));
  if (single) return leaf(RegexNode::Char, item.a);
  CharClass c;
  c.items.push_back(item);
  return class_node(std::move(c));
}

Result<ClassItem> RegexParser::posix() {
  const bool negated = take("^");
  struct Named {
    std::string_view name;
    ClassItem item;
  };
  const Named names[] = {{"alpha:]", {ClassItem::Record, negated, 0, kAlphabetic}},
                         {"digit:]", categories(kDigits, negated)},
                         {"alnum:]", {ClassItem::Record, negated, kDigits, kAlphabetic}},
                         {"upper:]", {ClassItem::Record, negated, 0, kUppercase}},
                         {"lower:]", {ClassItem::Record, negated, 0, kLowercase}},
                         {"punct:]", categories(kPunctuation | kSymbols, negated)},
                         {"space:]", white_space(negated)},
                         {"word:]", word(negated, 0)}};
  for (const Named& n : names)
    if (take(n.name)) return n.item;
  return unsupported("this [:class:]");
}

// Reads a class in brackets from behind its "[".
Result<CharClass> RegexParser::bracket(int depth) {
  LOOM_TRY_VOID(check_depth(depth));
  CharClass out;
  out.ignore_case = ignore_case_;
  out.negated = take("^");
  bool first = true;
  for (; more(); first = false) {
    if (peek() == ']' && !first) return ++at_, out;
    if (take("[:")) {
      LOOM_TRY(const auto item, posix());
      out.items.push_back(item);
      continue;
    }
    if (take("[")) {
      LOOM_TRY(auto inner, bracket(depth + 1));
      out.items.push_back({ClassItem::Nested, false, classes_.add(std::move(inner)), 0});
      continue;
    }
    if (take("&&")) {  // what follows, up to the bracket's end, must hold as well
      if (peek() == ']') return bad("nothing after &&");
      CharClass rest;
      LOOM_TRY(rest, bracket(depth + 1));
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
        LOOM_TRY(item, class_escape(peek(), single));
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
