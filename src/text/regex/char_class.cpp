#include "text/regex/char_class.h"

#include <algorithm>
#include <utility>

namespace loom::text {

namespace {

constexpr std::uint32_t kLast = kInvalidByte + 255;

// Sorts the spans and joins those that touch.
void join(std::vector<CharClass::Span>& spans) {
  std::ranges::sort(spans, {}, &CharClass::Span::first);
  std::size_t kept = 0;
  for (const CharClass::Span& s : spans) {
    if (kept > 0 && s.first <= spans[kept - 1].last + 1)
      spans[kept - 1].last = std::max(spans[kept - 1].last, s.last);
    else
      spans[kept++] = s;
  }
  spans.resize(kept);
}

bool in_spans(const std::vector<CharClass::Span>& spans, std::uint32_t c) {
  const auto after = std::ranges::upper_bound(spans, c, {}, &CharClass::Span::first);
  return after != spans.begin() && c <= std::prev(after)->last;
}

// Returns whether the ranges and records take it; nested classes are not asked.
bool takes(const CharClass& k, std::uint32_t c) {
  const std::uint8_t r = record_index(c);
  return (k.records[r >> 6] >> (r & 63) & 1u) != 0 || in_spans(k.ranges, c);
}

}  // namespace

std::uint32_t ClassTable::add(CharClass c) {
  classes_.push_back(std::move(c));
  finish(static_cast<std::uint32_t>(classes_.size() - 1));
  return static_cast<std::uint32_t>(classes_.size() - 1);
}

void ClassTable::finish(std::uint32_t index) {
  CharClass& k = classes_[index];
  take_in_items(k);
  if (k.ignore_case) take_other_cases(k);
  k.ascii = {};
  k.by_record = {};
  for (std::uint32_t c = 0; c < 128; ++c)
    if (evaluate(k, c)) k.ascii[c >> 6] |= std::uint64_t{1} << (c & 63);
  k.has_by_record = !depends_on_ranges(k);
  if (!k.has_by_record) return;
  for (std::size_t r = 0; r < tables::kNumRecords; ++r)  // any code point of a record stands for all of them
    if (evaluate(k, tables::kExample[r])) k.by_record[r >> 6] |= std::uint64_t{1} << (r & 63);
}

// A pattern may name a character 20 000 times: what can be said by ranges and records is, so that a question takes few
// steps.
void ClassTable::take_in_items(CharClass& k) const {
  std::vector<ClassItem> left;
  for (const ClassItem& i : k.items) {
    switch (i.kind) {
      case ClassItem::Range:
        if (!i.negated) k.ranges.push_back({i.a, i.b});
        if (i.negated && i.a > 0) k.ranges.push_back({0, i.a - 1});
        if (i.negated && i.b < kLast) k.ranges.push_back({i.b + 1, kLast});
        break;
      case ClassItem::Record:
        for (std::size_t r = 0; r < tables::kNumRecords; ++r) {
          const tables::Record& record = tables::kRecords[r];
          const bool in = (i.a >> record.category & 1u) != 0 || (record.flags & i.b) != 0;
          if (in != i.negated) k.records[r >> 6] |= std::uint64_t{1} << (r & 63);
        }
        break;
      case ClassItem::Nested: {
        const CharClass& inner = classes_[i.a];
        if (i.negated || inner.negated || inner.intersected >= 0 || !inner.items.empty() || !inner.folded.empty()) {
          left.push_back(i);
          k.cost += 1 + inner.cost;
          break;
        }
        k.ranges.insert(k.ranges.end(), inner.ranges.begin(), inner.ranges.end());
        for (std::size_t w = 0; w < k.records.size(); ++w) k.records[w] |= inner.records[w];
        break;
      }
    }
  }
  k.items = std::move(left);
  if (k.intersected >= 0) k.cost += 1 + classes_[static_cast<std::size_t>(k.intersected)].cost;
  join(k.ranges);
}

// Simple case folding: every character with the same fold as one that is taken.
void ClassTable::take_other_cases(CharClass& k) const {
  std::vector<std::uint32_t> folds;
  for (std::size_t i = 0; i < tables::kNumFold; ++i)
    if (takes_base(k, tables::kFold[i].from) || takes_base(k, tables::kFold[i].to))
      folds.push_back(tables::kFold[i].to);
  std::ranges::sort(folds);
  std::vector<CharClass::Span> folded;
  for (std::size_t i = 0; i < tables::kNumFold; ++i) {
    const auto [from, to] = tables::kFold[i];
    if (!std::ranges::binary_search(folds, to)) continue;
    for (const std::uint32_t c : {from, to})
      if (!takes_base(k, c)) folded.push_back({c, c});
  }
  join(folded);
  k.folded = std::move(folded);
}

bool ClassTable::depends_on_ranges(const CharClass& k) const {
  for (const auto* spans : {&k.ranges, &k.folded})
    if (!spans->empty() && spans->back().last >= 128) return true;
  for (const ClassItem& i : k.items)
    if (!classes_[i.a].has_by_record) return true;
  return k.intersected >= 0 && !classes_[static_cast<std::size_t>(k.intersected)].has_by_record;
}

// Returns what the class takes where case counts, before its negation.
bool ClassTable::takes_base(const CharClass& k, std::uint32_t c) const {
  bool any = takes(k, c);
  for (std::size_t i = 0; i < k.items.size() && !any; ++i) any = contains(k.items[i].a, c) != k.items[i].negated;
  return any && (k.intersected < 0 || contains(static_cast<std::uint32_t>(k.intersected), c));
}

bool ClassTable::evaluate(const CharClass& k, std::uint32_t c) const {
  return (takes_base(k, c) || in_spans(k.folded, c)) != k.negated;
}

}  // namespace loom::text
