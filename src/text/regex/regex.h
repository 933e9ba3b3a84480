#pragma once
// The regular expressions of pre-tokenizers: Oniguruma's syntax, as the tokenizers package sets it up.
//   literals, . [..] with ranges, negation, nesting and &&, \s \S \d \D \w \W \h \H, [:alpha:] and its like
//   \p{..} \P{..} \p{^..}: general categories, scripts, blocks (In_..), binary properties, by loosely compared names
//   \n \r \t \f \v \a \e \xHH \x{H..} \uHHHH \OOO \o{O..} \cX, \R \X \N \O
//   (..) (?:..) (?<name>..) (?i:..) (?i) (?m) (?x) (?=..) (?!..) (?<=..) (?<!..) (?>..) (?#..), | ,
//   * + ? {m,n} with ? (lazy) and + (possessive), ^ $ (at lines, as in Ruby) \A \z \Z \b \B
// Groups do not capture. Back references, conditions, calls, absence operators, \K \G \y and the flags W D S P are
// Error Unsupported. Matching backtracks, leftmost first, within a step budget that grows with the text: a pattern that
// explodes is an error, not a hang.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "text/regex/char_class.h"

namespace loom::text {

class Regex {
 public:
  // CorruptData with the byte offset for bad syntax: patterns come from files, Unsupported, LimitExceeded for a program
  // beyond 65536 instructions.
  static Result<Regex> compile(std::string_view pattern);
  // Matches `text` itself.
  static Result<Regex> literal(std::string_view text);

  enum class Op : std::uint8_t {
    Bytes,     // literals_[a, a+b)
    Fold,      // a code point whose case fold is a
    FoldText,  // characters whose full case folds are folds_[a, a+b)
    Grapheme,  // an extended grapheme cluster
    Class,     // class a
    Any,       // a: also a newline
    Run,       // class a, min..max times, mode
    Split,     // try a, then b
    Jump,      // a
    Look,      // the program at pc+1 must (not: mode) match at the position; go on at a
    Behind,    // the program at pc+1 must (not: mode) match min..max characters that end at the position; go on at a
    Reach,     // fail unless the position is the one where the look-behind began
    Atomic,    // the program at pc+1, without return into it; go on at a
    Mark,      // slots[a] = position
    Progress,  // unless the position moved from slots[a], pass over the Jump that follows: an empty round is the last one
    LineStart,
    LineEnd,
    TextStart,
    TextEnd,
    TextEndLine,
    WordEdge,
    NotWordEdge,
    Accept,
  };
  enum Mode : std::uint8_t { Greedy, Lazy, Possessive };
  struct Instruction {
    Op op = Op::Accept;
    std::uint8_t mode = 0;
    std::uint16_t first_a = 0, first_b = 0;  // Split: index into first_sets_ of both ways
    std::uint32_t a = 0, b = 0;
    std::uint32_t min = 0, max = 0;
  };
  // The set holds the bytes that a match can start with. `empty`: it may match nothing, so no byte excludes it.
  struct FirstSet {
    std::uint64_t bits[4] = {};
    bool empty = false;
    bool has(std::uint8_t c) const { return (bits[c >> 6] >> (c & 63) & 1u) != 0; }
  };

 private:
  friend class RegexCompiler;
  friend class RegexMatcher;
  std::vector<Instruction> program_;
  std::vector<FirstSet> first_sets_;  // [0] is that of the whole program
  std::string literals_;
  std::vector<std::uint32_t> folds_;
  ClassTable classes_;
  std::uint32_t num_slots_ = 0;
};

struct Match {
  std::size_t begin = 0, end = 0;
};

// Walks over the matches of one text. Not shared between threads; the Regex may be.
class RegexMatcher {
 public:
  RegexMatcher(const Regex& regex, std::string_view text);
  // The next match, leftmost first, not overlapping; false at the end. LimitExceeded when the step budget is spent.
  Result<bool> next(Match& match);

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  struct Frame {
    enum Kind : std::uint8_t { Retry, Shrink, Grow, Restore } kind;
    std::uint32_t pc;
    std::size_t position;
    std::size_t limit;  // Shrink: least position; Grow: repetitions left; Restore: old value of slot `pc`
  };
  std::size_t run(std::uint32_t pc, std::size_t position);
  bool behind(std::uint32_t pc, std::size_t position);
  bool step_folded(const Regex::Instruction& i, std::size_t& position) const;
  bool back_up(std::size_t base, std::uint32_t& pc, std::size_t& position);
  bool step_run(std::uint32_t& pc, std::size_t& position);
  bool step_code_point(const Regex::Instruction& i, std::size_t& position) const;
  bool step_split(std::uint32_t& pc, std::size_t position);
  bool holds(const Regex::Instruction& i, std::size_t position);
  bool class_at(std::uint32_t index, std::size_t position, std::size_t& next);
  bool in_class(std::uint32_t index, std::uint32_t c);
  bool enter(std::uint32_t set, std::size_t position) const;
  std::size_t candidate(std::size_t position) const;

  const Regex& regex_;
  std::string_view text_;
  std::size_t end_;  // of what characters are taken from: in a look-behind, the place where it must end
  std::vector<Frame> stack_;
  std::vector<std::size_t> slots_;
  std::size_t from_ = 0, last_end_ = kNone;
  std::uint64_t steps_left_ = 0;
  bool exhausted_ = false;
};

}  // namespace loom::text
