#include "server/thought_reader.h"

#include <algorithm>
#include <utility>

#include "server/call_form.h"

namespace loom::server {
namespace {

constexpr std::string_view kThoughtBlanks = " \n\r\t";

bool is_thought_blank(char c) { return kThoughtBlanks.find(c) != kThoughtBlanks.npos; }

void erase_first_blanks(std::string& text) {
  text.erase(0, std::min(text.find_first_not_of(kThoughtBlanks), text.size()));
}

}  // namespace

ThoughtReader::Found ThoughtReader::push(std::string_view text) {
  Found found;
  held_ += text;
  run(found);
  return found;
}

ThoughtReader::Found ThoughtReader::finish() {
  Found found;
  if (state_ == State::Thoughts)
    found.thoughts = held_.substr(0, held_.find_last_not_of(kThoughtBlanks) + 1);
  else if (state_ != State::Gap)
    found.text = held_;
  held_.clear();
  return found;
}

void ThoughtReader::run(Found& found) {
  if (state_ == State::Start && !read_start()) return;
  if (state_ == State::Thoughts && !read_thoughts(found)) return;
  if (state_ == State::Gap) {
    erase_first_blanks(held_);
    if (held_.empty()) return;
    state_ = State::Text;
  }
  found.text += std::exchange(held_, {});
}

// Returns whether it is known what the answer begins with.
bool ThoughtReader::read_start() {
  const std::string_view rest = trimmed(held_);
  if (rest.starts_with(kOpen)) {
    held_.erase(0, held_.find(kOpen) + kOpen.size());
    state_ = State::Thoughts;
    return true;
  }
  if (kOpen.starts_with(rest)) return false;
  state_ = State::Text;
  return true;
}

// Returns whether the thoughts have ended. Holds back what may be the beginning of kClose, and the blanks before it.
bool ThoughtReader::read_thoughts(Found& found) {
  if (!has_thoughts_) erase_first_blanks(held_);
  const std::size_t at = held_.find(kClose);
  const bool is_closed = at != held_.npos;
  std::size_t end = is_closed ? at : held_.size();
  for (std::size_t n = std::min(end, kClose.size() - 1); !is_closed && n > 0; --n) {
    if (!held_.ends_with(kClose.substr(0, n))) continue;
    end -= n;
    break;
  }
  while (end > 0 && is_thought_blank(held_[end - 1])) --end;
  found.thoughts += held_.substr(0, end);
  has_thoughts_ = has_thoughts_ || end > 0;
  held_.erase(0, is_closed ? at + kClose.size() : end);
  if (is_closed) state_ = State::Gap;
  return is_closed;
}

}  // namespace loom::server
