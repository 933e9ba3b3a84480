#include "grammar/rules.h"

#include <algorithm>
#include <span>

namespace loom::grammar {
namespace {

// Gives the texts, sorted and without their first `at` bytes. Beyond kMostForks forks they stand side by side, which
// bounds the stack.
ExprId any_of(Rules& rules, std::span<const std::string> texts, std::size_t at, int forks = 0) {
  constexpr int kMostForks = 64;
  const std::string_view first = texts.front(), last = texts.back();
  if (texts.size() == 1) return rules.text(first.substr(at));
  std::vector<ExprId> parts;
  if (forks == kMostForks) {
    for (const std::string_view text : texts) parts.push_back(rules.text(text.substr(at)));
    return rules.choice(std::move(parts));
  }
  std::size_t fork = at;
  while (fork < first.size() && first[fork] == last[fork]) ++fork;  // of sorted texts, all agree where these two do
  while (!texts.empty()) {
    if (texts.front().size() == fork) {
      parts.push_back(rules.empty());
      texts = texts.subspan(1);
      continue;
    }
    std::size_t count = 1;
    while (count < texts.size() && texts[count][fork] == texts.front()[fork]) ++count;
    parts.push_back(any_of(rules, texts.first(count), fork, forks + 1));
    texts = texts.subspan(count);
  }
  return rules.sequence({rules.text(first.substr(at, fork - at)), rules.choice(std::move(parts))});
}

}  // namespace

CharSet normalized(const CharSet& set) {
  constexpr std::uint32_t kFirstSurrogate = 0xD800, kLastSurrogate = 0xDFFF;
  CharSet whole;
  for (CharRange r : set) {
    r.last = std::min(r.last, kLastCodePoint);
    if (r.first > r.last) continue;
    if (r.last < kFirstSurrogate || r.first > kLastSurrogate) {
      whole.push_back(r);
      continue;
    }
    if (r.first < kFirstSurrogate) whole.push_back({r.first, kFirstSurrogate - 1});
    if (r.last > kLastSurrogate) whole.push_back({kLastSurrogate + 1, r.last});
  }
  std::ranges::sort(whole);
  CharSet out;
  for (const CharRange r : whole) {
    if (!out.empty() && r.first <= out.back().last + 1)
      out.back().last = std::max(out.back().last, r.last);
    else
      out.push_back(r);
  }
  return out;
}

CharSet complement(const CharSet& set) {
  CharSet out;
  std::uint32_t next = 0;
  for (const CharRange r : set) {
    if (r.first > next) out.push_back({next, r.first - 1});
    next = r.last + 1;
  }
  if (next <= kLastCodePoint) out.push_back({next, kLastCodePoint});
  return normalized(out);
}

CharSet intersection(const CharSet& a, const CharSet& b) {
  CharSet out;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const std::uint32_t first = std::max(a[i].first, b[j].first), last = std::min(a[i].last, b[j].last);
    if (first <= last) out.push_back({first, last});
    ++(a[i].last < b[j].last ? i : j);
  }
  return out;
}

bool contains(const CharSet& set, std::uint32_t code_point) {
  const auto after = std::ranges::upper_bound(set, code_point, {}, &CharRange::first);
  return after != set.begin() && std::prev(after)->last >= code_point;
}

Rules::Rules() {
  add({.kind = Expr::Empty});
  add({.kind = Expr::Never});
}

ExprId Rules::add(Expr e) {
  ++size_;
  exprs_.push_back(e);
  return static_cast<ExprId>(exprs_.size() - 1);
}

ExprId Rules::text(std::string_view bytes) {
  if (bytes.empty()) return empty();
  texts_.emplace_back(bytes);
  return add({.kind = Expr::Text, .index = static_cast<std::uint32_t>(texts_.size() - 1)});
}

ExprId Rules::chars(const CharSet& set) {
  if (set.empty()) return never();
  const auto found = set_exprs_.find(set);
  if (found != set_exprs_.end()) return found->second;
  sets_.push_back(set);
  const ExprId id = add({.kind = Expr::Chars, .index = static_cast<std::uint32_t>(sets_.size() - 1)});
  set_exprs_.emplace(set, id);
  return id;
}

ExprId Rules::sequence(std::vector<ExprId> parts) {
  std::erase(parts, empty());
  if (std::ranges::find(parts, never()) != parts.end()) return never();
  if (parts.empty()) return empty();
  if (parts.size() == 1) return parts[0];
  size_ += parts.size();
  lists_.push_back(std::move(parts));
  return add({.kind = Expr::Sequence, .index = static_cast<std::uint32_t>(lists_.size() - 1)});
}

ExprId Rules::choice(std::vector<ExprId> parts) {
  std::erase(parts, never());
  if (parts.empty()) return never();
  if (parts.size() == 1) return parts[0];
  size_ += parts.size();
  lists_.push_back(std::move(parts));
  return add({.kind = Expr::Choice, .index = static_cast<std::uint32_t>(lists_.size() - 1)});
}

ExprId Rules::repeat(ExprId part, std::uint32_t min, std::uint32_t max) {
  if (min > max) return never();
  if (max == 0 || part == empty()) return empty();
  if (part == never()) return min == 0 ? empty() : never();
  if (min == 1 && max == 1) return part;
  return add({.kind = Expr::Repeat, .index = part, .min = min, .max = max});
}

ExprId Rules::rule(RuleId rule) { return add({.kind = Expr::Rule, .index = rule}); }

ExprId Rules::machine(Machine machine) {
  for (const Machine::State& state : machine.states) size_ += 1 + state.edges.size();
  machines_.push_back(std::move(machine));
  return add({.kind = Expr::States, .index = static_cast<std::uint32_t>(machines_.size() - 1)});
}

RuleId Rules::add_rule(std::string name) {
  ++size_;
  names_.push_back(std::move(name));
  definitions_.push_back(never());
  return static_cast<RuleId>(names_.size() - 1);
}

ExprId any_text(Rules& rules, std::vector<std::string> texts) {
  std::ranges::sort(texts);
  texts.erase(std::ranges::unique(texts).begin(), texts.end());
  return any_of(rules, texts, 0);
}

}  // namespace loom::grammar
