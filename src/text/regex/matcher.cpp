#include <algorithm>
#include <utility>

#include "text/regex/regex.h"
#include "text/unicode/properties.h"

namespace loom::text {

namespace {
// Enough for any pre-tokenizer in use (they take under 20 steps per byte), small enough to stop an exponential one
// quickly.
constexpr std::uint64_t kStepsPerByte = 2000, kStepsAtLeast = 2'000'000;
// Backtrack frames: 24 bytes each.
constexpr std::size_t kMaxFrames = std::size_t{1} << 24;
}  // namespace

RegexMatcher::RegexMatcher(const Regex& regex, std::string_view text)
    : regex_(regex),
      text_(text),
      end_(text.size()),
      slots_(regex.num_slots_, kNone),
      steps_left_(kStepsAtLeast + kStepsPerByte * text.size()) {}

bool RegexMatcher::enter(std::uint32_t set, std::size_t position) const {
  const Regex::FirstSet& first = regex_.first_sets_[set];
  return first.empty || (position < end_ && first.has(static_cast<std::uint8_t>(text_[position])));
}

// The first position, at or after the given one, where a match can start.
std::size_t RegexMatcher::candidate(std::size_t position) const {
  const Regex::FirstSet& first = regex_.first_sets_[0];
  if (first.empty) return position;
  while (position < text_.size() && !first.has(static_cast<std::uint8_t>(text_[position])))
    position += decode_utf8(text_.data() + position, text_.data() + text_.size()).length;
  return position;
}

Result<bool> RegexMatcher::next(Match& match) {
  while (from_ <= text_.size()) {
    from_ = candidate(from_);
    if (from_ == text_.size() && !regex_.first_sets_[0].empty) break;
    const std::size_t end = run(0, from_);
    if (exhausted_)
      return fail(Code::LimitExceeded, "pattern needs more than {} steps on a text of {} bytes",
                  kStepsAtLeast + kStepsPerByte * text_.size(), text_.size());
    const std::size_t step =
        from_ < text_.size() ? decode_utf8(text_.data() + from_, text_.data() + text_.size()).length : 1;
    // An empty match right after the last match is no match: it would never end.
    if (end == kNone || (end == from_ && last_end_ == end)) {
      from_ += step;
      continue;
    }
    match = {from_, end};
    last_end_ = from_ = end;
    return true;
  }
  from_ = text_.size() + 1;
  return false;
}

bool RegexMatcher::in_class(std::uint32_t index, std::uint32_t c) {
  steps_left_ -= std::min<std::uint64_t>(steps_left_, regex_.classes_.cost(index));
  return regex_.classes_.contains(index, c);
}

bool RegexMatcher::class_at(std::uint32_t index, std::size_t position, std::size_t& next) {
  if (position >= end_) return false;
  const auto byte = static_cast<std::uint8_t>(text_[position]);
  if (byte < 128) {
    next = position + 1;
    return regex_.classes_.contains_ascii(index, byte);
  }
  const Decoded d = decode_utf8(text_.data() + position, text_.data() + text_.size());
  next = position + d.length;
  return in_class(index, d.code_point);
}

bool RegexMatcher::holds(const Regex::Instruction& i, std::size_t position) {
  const char *const begin = text_.data(), *const here = begin + position, *const end = begin + text_.size();
  const auto word_before = [&] {
    return here > begin && is_pattern_word(record(decode_utf8_before(begin, here).code_point));
  };
  const auto word_after = [&] { return here < end && is_pattern_word(record(decode_utf8(here, end).code_point)); };
  const std::size_t size = text_.size();
  switch (i.op) {
    case Regex::Op::LineStart: return position == 0 || (text_[position - 1] == '\n' && position < size);
    case Regex::Op::LineEnd: return position == size || text_[position] == '\n';
    case Regex::Op::TextStart: return position == 0;
    case Regex::Op::TextEnd: return position == size;
    case Regex::Op::TextEndLine: return position == size || (position + 1 == size && text_[position] == '\n');
    case Regex::Op::WordEdge: return word_before() != word_after();
    case Regex::Op::NotWordEdge: return word_before() == word_after();
    case Regex::Op::Reach: return position == end_;
    default: return false;
  }
}

// A run of one class: takes as much as it may and leaves one frame from which it gives back (or, when lazy, takes
// more).
bool RegexMatcher::step_run(std::uint32_t& pc, std::size_t& position) {
  const Regex::Instruction& i = regex_.program_[pc];
  std::size_t at = position, next = 0, least = position;
  std::uint32_t count = 0;
  const std::uint32_t wanted = i.mode == Regex::Lazy ? i.min : i.max;
  while (count < wanted && steps_left_ > 0 && class_at(i.a, at, next)) {
    at = next;
    if (++count == i.min) least = at;
  }
  steps_left_ -= std::min<std::uint64_t>(steps_left_, count);
  if (steps_left_ == 0) return true;  // run() says that they are spent
  if (count < i.min) return false;
  if (i.mode == Regex::Greedy && at > least) stack_.push_back({Frame::Shrink, pc + 1, at, least});
  if (i.mode == Regex::Lazy && i.max > i.min) stack_.push_back({Frame::Grow, pc, at, i.max - i.min});
  position = at;
  ++pc;
  return true;
}

// Takes the latest choice back. False when none is left above `base`.
bool RegexMatcher::back_up(std::size_t base, std::uint32_t& pc, std::size_t& position) {
  while (stack_.size() > base) {
    Frame& f = stack_.back();
    switch (f.kind) {
      case Frame::Retry:
        pc = f.pc;
        position = f.position;
        stack_.pop_back();
        return true;
      case Frame::Shrink:
        f.position -= decode_utf8_before(text_.data() + f.limit, text_.data() + f.position).length;
        pc = f.pc;
        position = f.position;
        if (f.position == f.limit) stack_.pop_back();
        return true;
      case Frame::Grow: {
        std::size_t next = 0;
        if (!class_at(regex_.program_[f.pc].a, f.position, next)) {
          stack_.pop_back();
          break;
        }
        f.position = position = next;
        pc = f.pc + 1;
        if (--f.limit == 0) stack_.pop_back();
        return true;
      }
      case Frame::Restore:
        slots_[f.pc] = f.position;
        stack_.pop_back();
        break;
    }
  }
  return false;
}

bool RegexMatcher::step_code_point(const Regex::Instruction& i, std::size_t& position) const {
  if (position >= end_) return false;
  const Decoded d = decode_utf8(text_.data() + position, text_.data() + text_.size());
  position += d.length;
  return i.op == Regex::Op::Fold ? fold_case(d.code_point) == i.a : i.a != 0 || d.code_point != '\n';
}

// Returns whether the look-behind at `pc` matches: from one of the places before this one to this one.
bool RegexMatcher::behind(std::uint32_t pc, std::size_t position) {
  const std::size_t outer = std::exchange(end_, position);
  const std::uint32_t most = regex_.program_[pc].max;
  bool found = false;
  std::size_t from = position;
  for (std::uint32_t back = 0; !exhausted_; ++back) {
    found = run(pc + 1, from) != kNone;
    if (found || from == 0 || back == most) break;
    const char* const begin = text_.data();
    from -= decode_utf8_before(begin, begin + from).length;
  }
  end_ = outer;
  return found;
}

// Consumes characters whose full case folds, one after another, are those of the instruction.
bool RegexMatcher::step_folded(const Regex::Instruction& i, std::size_t& position) const {
  const std::uint32_t* wanted = regex_.folds_.data() + i.a;
  const std::uint32_t* const end = wanted + i.b;
  while (wanted < end) {
    if (position >= end_) return false;
    const Decoded d = decode_utf8(text_.data() + position, text_.data() + text_.size());
    position += d.length;
    if (fold_case(d.code_point) == *wanted) {
      ++wanted;
      continue;
    }
    const auto* full = full_fold(d.code_point);
    if (!full) return false;
    for (const std::uint32_t to : full->to)
      if (to != 0 && (wanted == end || *wanted++ != to)) return false;
  }
  return true;
}

// Goes on where it can: the first branch, with the second kept for later, or the second alone.
bool RegexMatcher::step_split(std::uint32_t& pc, std::size_t position) {
  const Regex::Instruction& i = regex_.program_[pc];
  const bool b = enter(i.first_b, position);
  if (!enter(i.first_a, position)) {
    pc = i.b;
    return b;
  }
  if (b) stack_.push_back({Frame::Retry, i.b, position, 0});
  pc = i.a;
  return true;
}

// The end of the match of the program at `pc` that starts at `position`, or kNone.
std::size_t RegexMatcher::run(std::uint32_t pc, std::size_t position) {
  using Op = Regex::Op;
  const std::size_t base = stack_.size();
  while (true) {
    if (steps_left_ == 0 || stack_.size() > kMaxFrames) {
      exhausted_ = true;
      stack_.resize(base);
      return kNone;
    }
    --steps_left_;
    const Regex::Instruction& i = regex_.program_[pc];
    bool ok = true;
    switch (i.op) {
      case Op::Accept: stack_.resize(base); return position;
      case Op::Bytes:
        ok = position + i.b <= end_ &&
             text_.substr(position, i.b) == std::string_view(regex_.literals_).substr(i.a, i.b);
        position += i.b;
        ++pc;
        break;
      case Op::Fold:
      case Op::Any:
        ok = step_code_point(i, position);
        ++pc;
        break;
      case Op::FoldText:
        ok = step_folded(i, position);
        ++pc;
        break;
      case Op::Grapheme:
        ok = position < end_;
        if (ok) position += grapheme_length(text_.substr(position, end_ - position));
        ++pc;
        break;
      case Op::Class: {
        std::size_t next = 0;
        ok = class_at(i.a, position, next);
        position = next;
        ++pc;
        break;
      }
      case Op::Run: ok = step_run(pc, position); break;
      case Op::Split: ok = step_split(pc, position); break;
      case Op::Jump: pc = i.a; break;
      case Op::Look: {
        const std::size_t outer = std::exchange(end_, text_.size());
        ok = (run(pc + 1, position) != kNone) != (i.mode != 0) && !exhausted_;
        end_ = outer;
        pc = i.a;
        break;
      }
      case Op::Behind:
        ok = behind(pc, position) != (i.mode != 0) && !exhausted_;
        pc = i.a;
        break;
      case Op::Atomic: {
        const std::size_t end = run(pc + 1, position);
        ok = end != kNone;
        position = end;
        pc = i.a;
        break;
      }
      case Op::Mark:
        stack_.push_back({Frame::Restore, i.a, slots_[i.a], 0});
        slots_[i.a] = position;
        ++pc;
        break;
      case Op::Progress: pc += slots_[i.a] != position ? 1 : 2; break;
      default:
        ok = holds(i, position);
        ++pc;
        break;
    }
    if (!ok && !back_up(base, pc, position)) return kNone;
  }
}

}  // namespace loom::text
