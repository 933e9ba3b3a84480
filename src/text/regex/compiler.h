#pragma once
// Pattern text -> tree -> program. Internal to regex/.

#include <limits>
#include <memory>
#include <string_view>
#include <vector>

#include "core/stack_limit.h"
#include "text/regex/regex.h"

namespace loom::text {

constexpr std::uint32_t kForever = std::numeric_limits<std::uint32_t>::max();  // of a repetition without an upper bound

struct RegexNode {
  enum Kind : std::uint8_t {
    Empty,
    Char,
    Class,
    Any,
    Grapheme,
    Concat,
    Alternate,
    Repeat,
    Look,
    Behind,
    Atomic,
    Assert
  };
  Kind kind = Empty;
  bool ignore_case = false;          // Char
  bool folds_to_texts = true;        // Char that ignores case: also one character for several, and several for one
  bool negated = false;              // `Look`, `Behind`
  Regex::Mode mode = Regex::Greedy;  // Repeat
  Regex::Op assertion = Regex::Op::TextStart;
  std::uint32_t value = 0;  // Char: code point; Class: class; Any: 1 when it takes a newline too
  std::uint32_t min = 0, max = 0;
  std::vector<std::unique_ptr<RegexNode>> children;
};
using RegexTree = std::unique_ptr<RegexNode>;

class RegexParser {
 public:
  RegexParser(std::string_view pattern, ClassTable& classes) : pattern_(pattern), classes_(classes) {}
  Result<RegexTree> parse();

 private:
  Result<RegexTree> alternation(int depth);
  Result<RegexTree> sequence(int depth);
  Result<RegexTree> atom(int depth);
  Result<RegexTree> group(int depth);
  Result<RegexTree> look(bool behind, bool negated, int depth);
  Result<RegexTree> escape();
  Result<RegexTree> special_escape(char letter);
  RegexTree line_break();
  RegexTree with_folded_texts(CharClass c);
  void skip_comments();
  Result<RegexTree> quantified(RegexTree atom);
  Result<bool> braces(std::uint32_t& min, std::uint32_t& max, bool& is_fixed);
  Result<void> inline_flags();
  Result<CharClass> bracket(int depth, bool is_nested = false);
  Result<ClassItem> class_escape(char letter, bool& single, bool in_brackets);
  Result<ClassItem> property(bool negated, bool in_brackets);
  ClassItem nested(CharClass c, bool negated);
  Result<std::uint32_t> octal(std::size_t digits);
  Result<ClassItem> posix();
  Result<std::uint32_t> hex(std::size_t digits);
  Result<std::uint32_t> single_escape();
  RegexTree leaf(RegexNode::Kind kind, std::uint32_t value) const;
  RegexTree class_node(CharClass c);
  bool more() const { return at_ < pattern_.size(); }
  char peek() const { return more() ? pattern_[at_] : '\0'; }  // a zero at the end: no pattern of ours means one by it
  bool take(std::string_view text);
  std::uint32_t code_point();
  Result<void> check_depth(int depth) const;
  tl::unexpected<Error> bad(std::string_view what) const;
  tl::unexpected<Error> unsupported(std::string_view what) const;

  std::string_view pattern_;
  ClassTable& classes_;
  std::size_t at_ = 0;
  struct Flags {
    bool ignore_case = false, dot_all = false, extended = false;
  } flags_;
  int behind_ = 0;  // look-behinds around: case folds of several characters do not count in them
  StackLimit stack_;
};

class RegexCompiler {
 public:
  static Result<Regex> compile(std::string_view pattern);

 private:
  Result<void> emit(const RegexNode& node);
  Result<void> emit_repeat(const RegexNode& node);
  Result<void> emit_loop(const RegexNode& body, Regex::Mode mode);
  Result<void> emit_sub(const RegexNode& node);
  Result<void> emit_behind(const RegexNode& node);
  Result<void> emit_concat(const RegexNode& node);
  Result<bool> emit_folded(const RegexNode& node, std::size_t& from);
  Result<std::uint32_t> push(Regex::Instruction i);
  void find_first_sets();
  void first_of(std::uint32_t pc, Regex::FirstSet& set, std::vector<bool>& seen) const;

  Regex regex_;
  StackLimit stack_;
};

}  // namespace loom::text
