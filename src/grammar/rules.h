#pragma once
// Expressions that the compilers of schemas, grammar files and patterns write and the automaton is built of. Internal
// to grammar/.

#include <compare>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace loom::grammar {

constexpr std::uint32_t kForever = std::numeric_limits<std::uint32_t>::max();  // a repetition without an upper bound
constexpr std::uint32_t kLastCodePoint = 0x10FFFF;

struct CharRange {
  std::uint32_t first = 0, last = 0;
  auto operator<=>(const CharRange&) const = default;
};
// Sorted, apart from one another, without surrogates: normalized().
using CharSet = std::vector<CharRange>;
CharSet normalized(const CharSet& set);
CharSet complement(const CharSet& set);
CharSet intersection(const CharSet& a, const CharSet& b);
bool contains(const CharSet& set, std::uint32_t code_point);

using ExprId = std::uint32_t;
using RuleId = std::uint32_t;

// States with edges that take expressions; state 0 is the first.
struct Machine {
  struct Edge {
    ExprId expr = 0;
    std::uint32_t to = 0;
  };
  struct State {
    std::vector<Edge> edges{};
    bool accepts = false;
  };
  std::vector<State> states;
};

struct Expr {
  enum Kind : std::uint8_t { Empty, Never, Text, Chars, Sequence, Choice, Repeat, Rule, States };
  Kind kind = Empty;
  std::uint32_t index = 0;         // of a text, set, list or machine; the repeated expression; the rule
  std::uint32_t min = 0, max = 0;  // Repeat
};

class Rules {
 public:
  // Beyond so many expressions is_full() is true, and Automaton::create() refuses.
  static constexpr std::size_t kMostExprs = std::size_t{1} << 20;

  Rules();
  ExprId empty() const { return 0; }
  ExprId never() const { return 1; }
  ExprId text(std::string_view bytes);
  ExprId chars(const CharSet& set);  // one code point of the set, as UTF-8
  ExprId sequence(std::vector<ExprId> parts);
  ExprId choice(std::vector<ExprId> parts);
  ExprId repeat(ExprId part, std::uint32_t min, std::uint32_t max = kForever);
  ExprId optional(ExprId part) { return repeat(part, 0, 1); }
  ExprId rule(RuleId rule);
  ExprId machine(Machine machine);

  RuleId add_rule(std::string name);
  void define(RuleId rule, ExprId expr) { definitions_[rule] = expr; }
  const std::string& name(RuleId rule) const { return names_[rule]; }
  ExprId definition(RuleId rule) const { return definitions_[rule]; }
  std::size_t num_rules() const { return names_.size(); }
  bool is_full() const { return size_ > kMostExprs; }

  const Expr& at(ExprId id) const { return exprs_[id]; }
  const std::string& text_of(const Expr& e) const { return texts_[e.index]; }
  const CharSet& set_of(const Expr& e) const { return sets_[e.index]; }
  const std::vector<ExprId>& list_of(const Expr& e) const { return lists_[e.index]; }
  const Machine& machine_of(const Expr& e) const { return machines_[e.index]; }

 private:
  ExprId add(Expr e);

  std::vector<Expr> exprs_;
  std::vector<std::string> texts_, names_;
  std::vector<CharSet> sets_;
  std::map<CharSet, ExprId> set_exprs_;
  std::vector<std::vector<ExprId>> lists_;
  std::vector<Machine> machines_;
  std::vector<ExprId> definitions_;
  std::size_t size_ = 0;  // expressions, list entries and edges
};

// One of the texts; at least one came. A common beginning is followed once, so that thousands of texts are a few ways
// at a time.
ExprId any_text(Rules& rules, std::vector<std::string> texts);

}  // namespace loom::grammar
