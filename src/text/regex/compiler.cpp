#include "text/regex/compiler.h"
#include "text/unicode/properties.h"

#include <algorithm>
#include <limits>
#include <span>

namespace loom::text {
namespace {

constexpr std::size_t kMaxPattern = std::size_t{1} << 16, kMaxProgram = std::size_t{1} << 16;

bool can_be_empty(const RegexNode& node) {
  switch (node.kind) {
    case RegexNode::Char:
    case RegexNode::Class:
    case RegexNode::Any:
    case RegexNode::Grapheme: return false;
    case RegexNode::Concat:
      for (const auto& c : node.children)
        if (!can_be_empty(*c)) return false;
      return true;
    case RegexNode::Alternate:
      for (const auto& c : node.children)
        if (can_be_empty(*c)) return true;
      return false;
    case RegexNode::Repeat: return node.min == 0 || can_be_empty(*node.children[0]);
    case RegexNode::Atomic: return can_be_empty(*node.children[0]);
    default: return true;
  }
}

// The most characters that a match takes; kForever without a bound.
std::uint32_t longest(const RegexNode& node) {
  std::uint64_t sum = 0;
  switch (node.kind) {
    case RegexNode::Char:  // up to three characters where case is ignored
      return node.ignore_case && node.folds_to_texts ? 3 : 1;
    case RegexNode::Class:
    case RegexNode::Any: return 1;
    case RegexNode::Grapheme: return kForever;
    case RegexNode::Concat:
      for (const auto& c : node.children) sum += longest(*c);
      break;
    case RegexNode::Alternate:
      for (const auto& c : node.children) sum = std::max<std::uint64_t>(sum, longest(*c));
      break;
    case RegexNode::Repeat: sum = std::uint64_t{node.max} * longest(*node.children[0]); break;
    case RegexNode::Atomic: return longest(*node.children[0]);
    default: return 0;
  }
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(sum, kForever));
}

// Appends the full case fold.
void append_folded(std::uint32_t c, std::vector<std::uint32_t>& out) {
  if (const auto* full = full_fold(c)) {
    for (const std::uint32_t to : full->to)
      if (to != 0) out.push_back(to);
  } else {
    out.push_back(fold_case(c));
  }
}

// Returns whether several of these folded characters are the fold of one.
bool holds_fold_of_one(std::span<const std::uint32_t> folded) {
  for (std::size_t i = 0; i < tables::kNumFullFold; ++i) {
    const auto& to = tables::kFullFold[i].to;
    const std::span<const std::uint32_t> text(to, to[2] != 0 ? 3 : 2);
    if (!std::ranges::search(folded, text).empty()) return true;
  }
  return false;
}

bool is_cased(std::uint32_t c) {
  if (fold_case(c) != c) return true;
  for (std::size_t i = 0; i < tables::kNumFold; ++i)
    if (tables::kFold[i].to == c) return true;
  return false;
}

void set_all(Regex::FirstSet& set) {
  for (auto& w : set.bits) w = ~std::uint64_t{0};
}
void set_byte(Regex::FirstSet& set, std::uint32_t byte) { set.bits[byte >> 6] |= std::uint64_t{1} << (byte & 63); }
void set_not_ascii(Regex::FirstSet& set) { set.bits[2] = set.bits[3] = ~std::uint64_t{0}; }

}  // namespace

Result<std::uint32_t> RegexCompiler::push(Regex::Instruction i) {
  if (regex_.program_.size() >= kMaxProgram)
    return fail(Code::LimitExceeded, "pattern compiles to more than {} instructions", kMaxProgram);
  regex_.program_.push_back(i);
  return static_cast<std::uint32_t>(regex_.program_.size() - 1);
}

// A program of its own, run by the instruction before it.
Result<void> RegexCompiler::emit_sub(const RegexNode& node) {
  LOOM_TRY_VOID(emit(node));
  LOOM_TRY_VOID(push({.op = Regex::Op::Accept}));
  return {};
}

// body*, greedy or lazy.
Result<void> RegexCompiler::emit_loop(const RegexNode& body, Regex::Mode mode) {
  LOOM_TRY(const auto split, push({.op = Regex::Op::Split}));
  const bool guarded = can_be_empty(body);
  const std::uint32_t slot = regex_.num_slots_;
  if (guarded) {
    ++regex_.num_slots_;
    LOOM_TRY_VOID(push({.op = Regex::Op::Mark, .a = slot}));
  }
  LOOM_TRY_VOID(emit(body));
  if (guarded) LOOM_TRY_VOID(push({.op = Regex::Op::Progress, .a = slot}));
  LOOM_TRY_VOID(push({.op = Regex::Op::Jump, .a = split}));  // Progress ends the loop by passing it over
  auto& s = regex_.program_[split];
  s.a = split + 1;
  s.b = static_cast<std::uint32_t>(regex_.program_.size());
  if (mode == Regex::Lazy) std::swap(s.a, s.b);
  return {};
}

Result<void> RegexCompiler::emit_repeat(const RegexNode& node) {
  const RegexNode& body = *node.children[0];
  if (body.kind == RegexNode::Class) {
    LOOM_TRY_VOID(push({.op = Regex::Op::Run, .mode = node.mode, .a = body.value, .min = node.min, .max = node.max}));
    return {};
  }
  if (node.mode == Regex::Possessive) {
    LOOM_TRY(const auto atomic, push({.op = Regex::Op::Atomic}));
    RegexNode greedy;
    for (std::uint32_t i = 0; i < node.min; ++i) LOOM_TRY_VOID(emit(body));
    if (node.max == kForever) {
      LOOM_TRY_VOID(emit_loop(body, Regex::Greedy));
    } else {
      for (std::uint32_t i = node.min; i < node.max; ++i) {  // of `?+` alone: 0..1
        LOOM_TRY(const auto split, push({.op = Regex::Op::Split}));
        LOOM_TRY_VOID(emit(body));
        regex_.program_[split].a = split + 1;
        regex_.program_[split].b = static_cast<std::uint32_t>(regex_.program_.size());
      }
    }
    LOOM_TRY_VOID(push({.op = Regex::Op::Accept}));
    regex_.program_[atomic].a = static_cast<std::uint32_t>(regex_.program_.size());
    return {};
  }
  for (std::uint32_t i = 0; i < node.min; ++i) LOOM_TRY_VOID(emit(body));
  if (node.max == kForever) return emit_loop(body, node.mode);
  // x{0,n} = (x(x(x)?)?)?: every way out leads to the end.
  std::vector<std::uint32_t> splits;
  for (std::uint32_t i = node.min; i < node.max; ++i) {
    LOOM_TRY(const auto split, push({.op = Regex::Op::Split}));
    splits.push_back(split);
    LOOM_TRY_VOID(emit(body));
  }
  const auto end = static_cast<std::uint32_t>(regex_.program_.size());
  for (const std::uint32_t split : splits) {
    auto& s = regex_.program_[split];
    s.a = split + 1;
    s.b = end;
    if (node.mode == Regex::Lazy) std::swap(s.a, s.b);
  }
  return {};
}

Result<void> RegexCompiler::emit_behind(const RegexNode& node) {
  const std::uint32_t most = longest(*node.children[0]);
  LOOM_TRY(const auto sub, push({.op = Regex::Op::Behind, .mode = node.negated, .max = most}));
  LOOM_TRY_VOID(emit(*node.children[0]));
  LOOM_TRY_VOID(push({.op = Regex::Op::Reach}));
  LOOM_TRY_VOID(push({.op = Regex::Op::Accept}));
  regex_.program_[sub].a = static_cast<std::uint32_t>(regex_.program_.size());
  return {};
}

// Characters from child `from` on that ignore case, where several may stand for one or one for several: (?i)ss matches
// the sharp s. Moves `from` after them; false where there is nothing of that kind.
Result<bool> RegexCompiler::emit_folded(const RegexNode& node, std::size_t& from) {
  const auto is_folded = [](const RegexNode& n) {
    return n.kind == RegexNode::Char && n.ignore_case && n.folds_to_texts;
  };
  const auto a = static_cast<std::uint32_t>(regex_.folds_.size());
  std::size_t end = from;
  bool is_special = false;
  for (; end < node.children.size() && is_folded(*node.children[end]); ++end) {
    is_special = is_special || full_fold(node.children[end]->value) != nullptr;
    append_folded(node.children[end]->value, regex_.folds_);
  }
  const auto b = static_cast<std::uint32_t>(regex_.folds_.size()) - a;
  if (b == 0) return false;
  if (!is_special && !holds_fold_of_one(std::span(regex_.folds_).subspan(a))) {
    regex_.folds_.resize(a);
    return false;
  }
  LOOM_TRY_VOID(push({.op = Regex::Op::FoldText, .a = a, .b = b}));
  from = end;
  return true;
}

Result<void> RegexCompiler::emit_concat(const RegexNode& node) {
  for (std::size_t i = 0; i < node.children.size();) {
    bool folded = false;
    const bool begins_run = i == 0 || node.children[i - 1]->kind != RegexNode::Char;
    if (begins_run) {
      LOOM_TRY(folded, emit_folded(node, i));
    }
    if (!folded) LOOM_TRY_VOID(emit(*node.children[i++]));
  }
  return {};
}

Result<void> RegexCompiler::emit(const RegexNode& node) {
  using Op = Regex::Op;
  if (stack_.reached())
    return fail(Code::LimitExceeded, "pattern is nested deeper than the stack of this thread allows");
  switch (node.kind) {
    case RegexNode::Empty: return {};
    case RegexNode::Char: {
      if (node.ignore_case && node.folds_to_texts && full_fold(node.value)) {
        const auto a = static_cast<std::uint32_t>(regex_.folds_.size());
        append_folded(node.value, regex_.folds_);
        LOOM_TRY_VOID(push({.op = Op::FoldText, .a = a, .b = static_cast<std::uint32_t>(regex_.folds_.size()) - a}));
        return {};
      }
      if (node.ignore_case && is_cased(node.value)) {
        LOOM_TRY_VOID(push({.op = Op::Fold, .a = fold_case(node.value)}));
        return {};
      }
      const auto offset = static_cast<std::uint32_t>(regex_.literals_.size());
      append_utf8(regex_.literals_, node.value);
      LOOM_TRY_VOID(
          push({.op = Op::Bytes, .a = offset, .b = static_cast<std::uint32_t>(regex_.literals_.size()) - offset}));
      return {};
    }
    case RegexNode::Class: LOOM_TRY_VOID(push({.op = Op::Class, .a = node.value})); return {};
    case RegexNode::Any: LOOM_TRY_VOID(push({.op = Op::Any, .a = node.value})); return {};
    case RegexNode::Grapheme: LOOM_TRY_VOID(push({.op = Op::Grapheme})); return {};
    case RegexNode::Concat: return emit_concat(node);
    case RegexNode::Alternate: {
      std::vector<std::uint32_t> jumps;
      for (std::size_t i = 0; i < node.children.size(); ++i) {
        const bool last = i + 1 == node.children.size();
        std::uint32_t split = 0;
        if (!last) {
          LOOM_TRY(split, push({.op = Op::Split}));
        }
        LOOM_TRY_VOID(emit(*node.children[i]));
        if (last) break;
        LOOM_TRY(const auto jump, push({.op = Op::Jump}));
        jumps.push_back(jump);
        regex_.program_[split].a = split + 1;
        regex_.program_[split].b = jump + 1;
      }
      for (const std::uint32_t j : jumps) regex_.program_[j].a = static_cast<std::uint32_t>(regex_.program_.size());
      return {};
    }
    case RegexNode::Repeat: return emit_repeat(node);
    case RegexNode::Behind: return emit_behind(node);
    case RegexNode::Look:
    case RegexNode::Atomic: {
      LOOM_TRY(const auto sub,
               push({.op = node.kind == RegexNode::Look ? Op::Look : Op::Atomic, .mode = node.negated}));
      LOOM_TRY_VOID(emit_sub(*node.children[0]));
      regex_.program_[sub].a = static_cast<std::uint32_t>(regex_.program_.size());
      return {};
    }
    case RegexNode::Assert: LOOM_TRY_VOID(push({.op = node.assertion})); return {};
  }
  return {};
}

// Adds the bytes that a match from `pc` can start with.
void RegexCompiler::first_of(std::uint32_t pc, Regex::FirstSet& set, std::vector<bool>& seen) const {
  using Op = Regex::Op;
  std::vector<std::uint32_t> todo{pc};
  while (!todo.empty()) {
    const std::uint32_t at = todo.back();
    todo.pop_back();
    if (seen[at]) continue;
    seen[at] = true;
    const auto& i = regex_.program_[at];
    const auto add_class = [&] {
      for (std::uint32_t c = 0; c < 128; ++c)
        if (regex_.classes_.contains_ascii(i.a, c)) set_byte(set, c);
      set_not_ascii(set);
    };
    switch (i.op) {
      case Op::Accept: set.empty = true; break;
      case Op::Bytes: set_byte(set, static_cast<std::uint8_t>(regex_.literals_[i.a])); break;
      case Op::Fold:
        if (i.a < 128) {
          set_byte(set, i.a);
          if (i.a - 'a' < 26u) set_byte(set, i.a - 32);
        }
        set_not_ascii(set);
        break;
      case Op::FoldText: {
        const std::uint32_t first = regex_.folds_[i.a];
        if (first < 128) set_byte(set, first);
        if (first - 'a' < 26u) set_byte(set, first - 32);
        set_not_ascii(set);
        break;
      }
      case Op::Class: add_class(); break;
      case Op::Grapheme:
      case Op::Any: set_all(set); break;
      case Op::Run:
        add_class();
        if (i.min == 0) todo.push_back(at + 1);
        break;
      case Op::Split:
        todo.push_back(i.a);
        todo.push_back(i.b);
        break;
      case Op::Jump:
      case Op::Behind:
      case Op::Look: todo.push_back(i.a); break;
      case Op::Atomic:  // what it takes is not followed further: any byte, or none
        set_all(set);
        set.empty = true;
        break;
      default: todo.push_back(at + 1); break;
    }
  }
}

void RegexCompiler::find_first_sets() {
  auto& program = regex_.program_;
  std::vector<bool> seen(program.size());
  const auto compute = [&](std::uint32_t pc) {
    seen.assign(program.size(), false);
    Regex::FirstSet set;
    first_of(pc, set, seen);
    if (set.empty) set_all(set);
    regex_.first_sets_.push_back(set);
    return static_cast<std::uint16_t>(regex_.first_sets_.size() - 1);
  };
  compute(0);
  regex_.first_sets_.push_back({{}, true});  // [1]: no knowledge
  // Large programs (hostile, or {m,n} of groups) go without: the analysis costs their square.
  const bool small = program.size() <= 2048;
  for (auto& i : program) {
    if (i.op != Regex::Op::Split) continue;
    i.first_a = small ? compute(i.a) : 1;
    i.first_b = small ? compute(i.b) : 1;
  }
}

Result<Regex> RegexCompiler::compile(std::string_view pattern) {
  if (pattern.size() > kMaxPattern)
    return fail(Code::LimitExceeded, "pattern has {} bytes, at most {} are read", pattern.size(), kMaxPattern);
  RegexCompiler compiler;
  RegexParser parser(pattern, compiler.regex_.classes_);
  LOOM_TRY(const auto tree, parser.parse());
  LOOM_TRY_VOID(compiler.emit_sub(*tree));
  compiler.find_first_sets();
  return std::move(compiler.regex_);
}

Result<Regex> Regex::compile(std::string_view pattern) { return RegexCompiler::compile(pattern); }

Result<Regex> Regex::literal(std::string_view text) {
  std::string pattern;
  for (const char c : text) {
    if (std::string_view("\\.[]{}()*+?^$|&-").find(c) != std::string_view::npos) pattern.push_back('\\');
    pattern.push_back(c);
  }
  return compile(pattern);
}

}  // namespace loom::text
