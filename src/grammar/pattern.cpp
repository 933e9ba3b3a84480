// Regular expressions: text -> tree -> nodes -> machine without empty edges.

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <optional>

#include "grammar/frontends.h"
#include "text/unicode/properties.h"
#include "text/unicode/unicode.h"

namespace loom::grammar {
namespace {

constexpr int kDeepestPattern = 200;
constexpr std::uint32_t kMostRepeats = 65535;

struct Tree {
  enum Kind : std::uint8_t { Empty, Chars, Sequence, Choice, Repeat, AtStart, AtEnd };
  Kind kind = Empty;
  std::uint32_t set = 0, min = 0, max = 0;
  std::vector<std::uint32_t> parts{};
};

CharSet digits() { return {{'0', '9'}}; }
CharSet words() { return {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}; }
CharSet spaces() {
  return {{9, 13},          {' ', ' '},       {0xA0, 0xA0},     {0x1680, 0x1680}, {0x2000, 0x200A},
          {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
}
CharSet line_ends() { return {{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}}; }

class PatternParser {
 public:
  explicit PatternParser(std::string_view text) : text_(text) {}

  Result<std::uint32_t> parse() {
    LOOM_TRY(const std::uint32_t root, choice(0));
    if (more()) return bad("an unmatched )", at_);
    return root;
  }
  std::uint32_t add(Tree tree) {
    trees_.push_back(std::move(tree));
    return static_cast<std::uint32_t>(trees_.size() - 1);
  }
  std::uint32_t chars(CharSet set) {
    sets_.push_back(std::move(set));
    return add({.kind = Tree::Chars, .set = static_cast<std::uint32_t>(sets_.size() - 1)});
  }
  const std::vector<Tree>& trees() const { return trees_; }
  std::vector<CharSet>& sets() { return sets_; }

 private:
  bool more() const { return at_ < text_.size(); }
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool take(std::string_view text) {
    if (!text_.substr(at_).starts_with(text)) return false;
    at_ += text.size();
    return true;
  }
  static tl::unexpected<Error> bad(std::string_view what, std::size_t at) {
    return fail(Code::InvalidArgument, "the pattern has {} at byte {}", what, at);
  }
  static tl::unexpected<Error> lacks(std::string_view what, std::size_t at) {
    return fail(Code::InvalidArgument, "the pattern has {} at byte {}, which is not supported", what, at);
  }

  Result<std::uint32_t> choice(int depth) {
    if (depth > kDeepestPattern)
      return fail(Code::LimitExceeded, "the pattern has groups deeper than {}", kDeepestPattern);
    Tree tree{.kind = Tree::Choice};
    do {
      LOOM_TRY(const std::uint32_t part, sequence(depth));
      tree.parts.push_back(part);
    } while (take("|"));
    return tree.parts.size() == 1 ? tree.parts[0] : add(std::move(tree));
  }

  Result<std::uint32_t> sequence(int depth) {
    Tree tree{.kind = Tree::Sequence};
    while (more() && peek() != '|' && peek() != ')') {
      LOOM_TRY(const std::uint32_t part, repeated(depth));
      tree.parts.push_back(part);
    }
    return tree.parts.size() == 1 ? tree.parts[0] : add(std::move(tree));
  }

  Result<std::uint32_t> repeated(int depth) {
    const std::size_t begin = at_;
    LOOM_TRY(const std::uint32_t part, atom(depth));
    std::uint32_t min = 1, max = 1;
    LOOM_TRY(const bool found, quantifier(min, max));
    if (!found) return part;
    if (trees_[part].kind == Tree::AtStart || trees_[part].kind == Tree::AtEnd)
      return bad("a repetition of ^ or $", begin);
    if (peek() == '+') return lacks("a possessive repetition", at_);
    take("?");  // lazy: the same texts
    return add({.kind = Tree::Repeat, .min = min, .max = max, .parts = {part}});
  }

  Result<bool> quantifier(std::uint32_t& min, std::uint32_t& max) {
    if (take("*")) {
      min = 0;
      max = kForever;
      return true;
    }
    if (take("+")) {
      max = kForever;
      return true;
    }
    if (take("?")) {
      min = 0;
      return true;
    }
    const std::size_t begin = at_;
    if (peek() != '{' || peek(1) < '0' || peek(1) > '9') return false;
    ++at_;
    const auto number = [this](std::uint32_t& out) {
      bool is_number = false;
      for (out = 0; peek() >= '0' && peek() <= '9'; ++at_, is_number = true)
        out = std::min(out * 10 + static_cast<std::uint32_t>(peek() - '0'), kMostRepeats + 1);
      return is_number;
    };
    number(min);
    max = min;
    if (take(",") && !number(max)) max = kForever;
    if (!take("}")) {  // no repetition: the brace is a character
      at_ = begin;
      min = max = 1;
      return false;
    }
    if (min > kMostRepeats || (max > kMostRepeats && max != kForever))
      return fail(Code::LimitExceeded, "the pattern has a repetition above {} at byte {}", kMostRepeats, begin);
    if (min > max) return bad("a repetition whose least count is above its greatest", begin);
    return true;
  }

  Result<std::uint32_t> atom(int depth) {
    const std::size_t begin = at_;
    const char c = peek();
    if (c == '(') return group(depth);
    if (c == '[') return bracket();
    if (c == '*' || c == '+' || c == '?') return bad("a repetition of nothing", begin);
    if (c == '\\') return escape();
    if (take("^")) return add({.kind = Tree::AtStart});
    if (take("$")) return add({.kind = Tree::AtEnd});
    if (take(".")) return chars(complement(line_ends()));
    LOOM_TRY(const std::uint32_t code_point, character());
    return chars({{code_point, code_point}});
  }

  Result<std::uint32_t> character() {
    const text::Decoded d = text::decode_utf8(text_.data() + at_, text_.data() + text_.size());
    if (d.code_point > kLastCodePoint) return bad("a byte that is no UTF-8", at_);
    at_ += d.length;
    return d.code_point;
  }

  Result<std::uint32_t> group(int depth) {
    const std::size_t begin = at_;
    ++at_;
    if (take("?")) {
      if (peek() == '=' || peek() == '!') return lacks("a look-ahead", begin);
      if (peek() == '<' && (peek(1) == '=' || peek(1) == '!')) return lacks("a look-behind", begin);
      if (take("<") || take("P<")) {
        while (more() && peek() != '>') ++at_;
        if (!take(">")) return bad("a group's name without >", begin);
      } else if (peek() == '>') {
        return lacks("an atomic group", begin);
      } else if (!take(":")) {
        return lacks("a group with flags", begin);
      }
    }
    LOOM_TRY(const std::uint32_t inner, choice(depth + 1));
    if (!take(")")) return bad("a ( without )", begin);
    return inner;
  }

  Result<std::uint32_t> hex(std::size_t count, std::size_t begin) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < count; ++i, ++at_) {
      const char c = peek();
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) return bad("a character's number that is not complete", begin);
      value = value * 16 + static_cast<std::uint32_t>(digit);
    }
    return value;
  }

  // After the backslash: a set, or nothing for a single character.
  Result<std::optional<CharSet>> class_escape() {
    const std::size_t begin = at_ - 1;
    switch (peek()) {
      case 'd': ++at_; return digits();
      case 'D': ++at_; return complement(digits());
      case 'w': ++at_; return words();
      case 'W': ++at_; return complement(words());
      case 's': ++at_; return spaces();
      case 'S': ++at_; return complement(spaces());
      case 'p':
      case 'P': break;
      default: return std::nullopt;
    }
    const bool is_negated = peek() == 'P';
    ++at_;
    if (!take("{")) return bad("a \\p without {", begin);
    const std::size_t close = text_.find('}', at_);
    if (close == text_.npos) return bad("a \\p{ without }", begin);
    std::string_view name = text_.substr(at_, close - at_);
    at_ = close + 1;
    for (const std::string_view key : {"General_Category=", "gc=", "Script=", "sc="})
      if (name.starts_with(key)) name.remove_prefix(key.size());
    LOOM_TRY(CharSet set, property(name, begin));
    return is_negated ? complement(set) : set;
  }

  static Result<CharSet> property(std::string_view name, std::size_t at) {
    const std::string loose = text::loose_name(name);
    CharSet set;
    if (const std::uint32_t mask = text::category_mask(loose)) {
      for (std::uint32_t c = 0; c <= kLastCodePoint; ++c) {
        if (!text::in_category(c, mask)) continue;
        if (!set.empty() && set.back().last + 1 == c)
          set.back().last = c;
        else
          set.push_back({c, c});
      }
      return normalized(set);
    }
    std::vector<text::CodePointRange> ranges;
    if (!text::property_ranges(loose, ranges))
      return bad(fmt::format("an unknown property {}", name.substr(0, 60)), at);
    for (const text::CodePointRange r : ranges) set.push_back({r.first, r.last});
    return normalized(set);
  }

  // After the backslash.
  Result<std::uint32_t> single_escape() {
    const std::size_t begin = at_ - 1;
    const char c = peek();
    ++at_;
    switch (c) {
      case 'n': return '\n';
      case 't': return '\t';
      case 'r': return '\r';
      case 'f': return '\f';
      case 'v': return '\v';
      case '0':
        if (peek() >= '0' && peek() <= '9') return lacks("an octal character number", begin);
        return 0;
      case 'x': return hex(2, begin);
      case 'c': {
        const char letter = peek();
        if (!((letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z')))
          return bad("a \\c without a letter", begin);
        ++at_;
        return static_cast<std::uint32_t>(letter) % 32;
      }
      case 'u': return unicode_escape(begin);
      default: break;
    }
    if (c >= '1' && c <= '9') return lacks("a back reference", begin);
    if (c == 'k') return lacks("a back reference", begin);
    if (c == 'b' || c == 'B') return lacks("a word boundary", begin);
    const auto byte = static_cast<std::uint8_t>(c);
    if (at_ > text_.size()) {
      at_ = text_.size();
      return bad("a \\ at the end", begin);
    }
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || byte < 0x20 || byte >= 0x7F)
      return bad(fmt::format("an unknown escape \\{}", text::to_valid_utf8(std::string(1, c))), begin);
    return byte;
  }

  Result<std::uint32_t> unicode_escape(std::size_t begin) {
    if (take("{")) {
      const std::size_t close = text_.find('}', at_);
      if (close == text_.npos || close == at_ || close - at_ > 8) return bad("a \\u{ without a number and }", begin);
      LOOM_TRY(const std::uint32_t value, hex(close - at_, begin));
      if (!take("}") || value > kLastCodePoint) return bad("a \\u{ with a number above 10FFFF", begin);
      return value;
    }
    LOOM_TRY(const std::uint32_t high, hex(4, begin));
    if (high < 0xD800 || high > 0xDBFF || !text_.substr(at_).starts_with("\\u")) return high;
    const std::size_t second = at_;
    at_ += 2;
    LOOM_TRY(const std::uint32_t low, hex(4, begin));
    if (low >= 0xDC00 && low <= 0xDFFF) return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
    at_ = second;
    return high;
  }

  Result<std::uint32_t> escape() {
    ++at_;
    LOOM_TRY(auto set, class_escape());
    if (set) return chars(std::move(*set));
    LOOM_TRY(const std::uint32_t code_point, single_escape());
    return chars(normalized({{code_point, code_point}}));
  }

  Result<std::uint32_t> bracket() {
    const std::size_t begin = at_;
    ++at_;
    const bool is_negated = take("^");
    CharSet set;
    while (more() && peek() != ']') {
      const std::size_t item = at_;
      LOOM_TRY(const auto first, bracket_item(set));
      if (peek() != '-' || peek(1) == ']' || at_ + 1 >= text_.size()) {
        if (first) set.push_back({*first, *first});
        continue;
      }
      ++at_;
      LOOM_TRY(const auto last, bracket_item(set));
      if (!first || !last || *first > *last) return bad("a range of characters that is none", item);
      set.push_back({*first, *last});
    }
    if (!take("]")) return bad("a [ without ]", begin);
    set = normalized(set);
    return chars(is_negated ? complement(set) : std::move(set));
  }

  // A character, or nothing where a class was added to the set.
  Result<std::optional<std::uint32_t>> bracket_item(CharSet& set) {
    if (take("\\")) {
      LOOM_TRY(const auto found, class_escape());
      if (found) {
        set.insert(set.end(), found->begin(), found->end());
        return std::nullopt;
      }
      if (take("b")) return '\b';
      LOOM_TRY(const std::uint32_t code_point, single_escape());
      return code_point;
    }
    if (text_.substr(at_).starts_with("[:")) return lacks("a POSIX class", at_);
    LOOM_TRY(const std::uint32_t code_point, character());
    return code_point;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<Tree> trees_;
  std::vector<CharSet> sets_;
};

tl::unexpected<Error> too_large() {
  return fail(Code::LimitExceeded, "the pattern needs more than {} states or {} steps between them",
              PatternMachine::kMostStates, PatternMachine::kMostEdges);
}

// Trees as nodes with empty edges, and these as a machine without.
class PatternCompiler {
 public:
  explicit PatternCompiler(const std::vector<Tree>& trees) : trees_(trees) {}

  Result<PatternMachine> run(std::uint32_t root, std::vector<CharSet> sets) {
    const std::uint32_t accept = add({Step::Accept});
    const std::uint32_t first = lower(root, accept);
    if (full_) return too_large();
    PatternMachine out;
    out.sets = std::move(sets);
    std::map<std::uint32_t, std::uint32_t> ids;
    std::vector<std::uint32_t> order;  // nodes of the states; that of state 0 stands at the start of the text
    const auto state_of = [&](std::uint32_t node) {
      const auto [found, is_new] = ids.try_emplace(node, static_cast<std::uint32_t>(order.size()));
      if (is_new) order.push_back(node);
      return found->second;
    };
    order.push_back(first);
    std::size_t edges = 0, visited = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      PatternMachine::State state;
      const std::uint32_t from = order[i];
      reach(from, i == 0, visited, [&](const Step& step) {
        if (step.kind == Step::Accept)
          state.accepts = true;
        else if (!out.sets[step.a].empty()) {
          state.edges.push_back({step.a, state_of(step.b)});
          ++edges;
        }
      });
      out.states.push_back(std::move(state));
      if (order.size() > PatternMachine::kMostStates || edges > PatternMachine::kMostEdges || visited > kMostVisited)
        return too_large();
    }
    return out;
  }

 private:
  struct Step {
    enum Kind : std::uint8_t { Chars, Split, AtStart, AtEnd, Accept };
    Kind kind = Accept;
    std::uint32_t a = 0, b = 0;  // Chars: set a, then b; Split: a or b; AtStart, AtEnd: then b
  };
  static constexpr std::size_t kMostSteps = 4 * PatternMachine::kMostStates, kMostVisited = std::size_t{1} << 22;

  std::uint32_t add(Step step) {
    if (steps_.size() >= kMostSteps) {
      full_ = true;
      return 0;
    }
    steps_.push_back(step);
    return static_cast<std::uint32_t>(steps_.size() - 1);
  }

  std::uint32_t lower(std::uint32_t id, std::uint32_t next) {
    if (full_) return 0;
    const Tree& tree = trees_[id];
    switch (tree.kind) {
      case Tree::Empty: return next;
      case Tree::Chars: return add({Step::Chars, tree.set, next});
      case Tree::AtStart: return add({Step::AtStart, 0, next});
      case Tree::AtEnd: return add({Step::AtEnd, 0, next});
      case Tree::Sequence:
        for (std::size_t i = tree.parts.size(); i-- > 0;) next = lower(tree.parts[i], next);
        return next;
      case Tree::Choice: {
        std::uint32_t node = lower(tree.parts.back(), next);
        for (std::size_t i = tree.parts.size() - 1; i-- > 0;) {
          const std::uint32_t part = lower(tree.parts[i], next);
          node = add({Step::Split, part, node});
        }
        return node;
      }
      case Tree::Repeat: return lower_repeat(tree, next);
    }
    return next;
  }

  std::uint32_t lower_repeat(const Tree& tree, std::uint32_t next) {
    std::uint32_t node = next;
    if (tree.max == kForever) {
      node = add({Step::Split, next, next});
      const std::uint32_t body = lower(tree.parts[0], node);
      if (!full_) steps_[node].a = body;
    }
    const std::uint32_t optional = tree.max == kForever ? 0 : tree.max - tree.min;
    for (std::uint32_t i = 0; i < optional && !full_; ++i) {
      const std::uint32_t body = lower(tree.parts[0], node);
      if (body == node) return node;  // repeats nothing
      node = add({Step::Split, body, next});
    }
    for (std::uint32_t i = 0; i < tree.min && !full_; ++i) {
      const std::uint32_t body = lower(tree.parts[0], node);
      if (body == node) break;
      node = body;
    }
    return node;
  }

  // Calls found() for what can be reached without a character. After $ only the end of the text can follow.
  template <class Found>
  void reach(std::uint32_t from, bool is_start, std::size_t& visited, Found found) {
    constexpr std::uint32_t kEnded = 1u << 31;
    std::vector<std::uint32_t> work;
    const auto visit = [&](std::uint32_t key) {
      std::vector<std::size_t>& seen = seen_[(key & kEnded) != 0 ? 1 : 0];
      seen.resize(steps_.size(), 0);
      if (seen[key & ~kEnded] == round_) return;
      seen[key & ~kEnded] = round_;
      work.push_back(key);
    };
    ++round_;
    visit(from);
    while (!work.empty()) {
      const std::uint32_t key = work.back(), ended = key & kEnded;
      work.pop_back();
      ++visited;
      const Step step = steps_[key & ~kEnded];
      if (step.kind == Step::Split) {
        visit(step.b | ended);
        visit(step.a | ended);
      } else if (step.kind == Step::AtStart) {
        if (is_start) visit(step.b | ended);
      } else if (step.kind == Step::AtEnd) {
        visit(step.b | kEnded);
      } else if (step.kind == Step::Accept || ended == 0) {
        found(step);
      }
    }
  }

  const std::vector<Tree>& trees_;
  std::vector<Step> steps_;
  std::array<std::vector<std::size_t>, 2> seen_;
  std::size_t round_ = 0;
  bool full_ = false;
};

}  // namespace

Result<PatternMachine> compile_pattern(std::string_view pattern, bool is_whole) {
  PatternParser parser(pattern);
  LOOM_TRY(std::uint32_t root, parser.parse());
  if (!is_whole) {
    const std::uint32_t any = parser.chars(complement({}));
    const std::uint32_t many = parser.add({.kind = Tree::Repeat, .min = 0, .max = kForever, .parts = {any}});
    root = parser.add({.kind = Tree::Sequence, .parts = {many, root, many}});
  }
  return PatternCompiler(parser.trees()).run(root, std::move(parser.sets()));
}

Result<PatternMachine> intersection(const PatternMachine& a, const PatternMachine& b) {
  PatternMachine out;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> ids, set_ids;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> order{{0, 0}};
  ids[{0, 0}] = 0;
  std::size_t tried = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto [left, right] = order[i];
    PatternMachine::State state{.accepts = a.states[left].accepts && b.states[right].accepts};
    for (const PatternMachine::Edge& x : a.states[left].edges)
      for (const PatternMachine::Edge& y : b.states[right].edges) {
        if (++tried > PatternMachine::kMostEdges) return too_large();
        const auto [set, is_new_set] = set_ids.try_emplace({x.set, y.set}, static_cast<std::uint32_t>(out.sets.size()));
        if (is_new_set) out.sets.push_back(intersection(a.sets[x.set], b.sets[y.set]));
        if (out.sets[set->second].empty()) continue;
        const auto [to, is_new] = ids.try_emplace({x.to, y.to}, static_cast<std::uint32_t>(order.size()));
        if (is_new) order.emplace_back(x.to, y.to);
        state.edges.push_back({set->second, to->second});
      }
    out.states.push_back(std::move(state));
    if (order.size() > PatternMachine::kMostStates) return too_large();
  }
  return out;
}

PatternMachine length_machine(std::uint32_t min, std::uint32_t max) {
  PatternMachine out;
  out.sets.push_back(complement({}));
  const std::uint32_t last = max == kForever ? min : max;
  for (std::uint32_t i = 0; i <= last; ++i) {
    PatternMachine::State state{.accepts = i >= min};
    if (i < last)
      state.edges.push_back({0, i + 1});
    else if (max == kForever)
      state.edges.push_back({0, i});
    out.states.push_back(std::move(state));
  }
  return out;
}

}  // namespace loom::grammar
