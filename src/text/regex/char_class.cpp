#include "text/regex/char_class.h"

#include <utility>

namespace loom::text {

std::uint32_t ClassTable::add(CharClass c) {
  classes_.push_back(std::move(c));
  finish(static_cast<std::uint32_t>(classes_.size() - 1));
  return static_cast<std::uint32_t>(classes_.size() - 1);
}

void ClassTable::finish(std::uint32_t index) {
  CharClass& k = classes_[index];
  k.ascii = {};
  k.by_record = {};
  for (std::uint32_t c = 0; c < 128; ++c)
    if (evaluate(k, c)) k.ascii[c >> 6] |= std::uint64_t{1} << (c & 63);
  k.has_by_record = !depends_on_ranges(k);
  if (!k.has_by_record) return;
  for (std::size_t r = 0; r < tables::kNumRecords; ++r)  // any code point of a record stands for all of them
    if (evaluate(k, tables::kExample[r])) k.by_record[r >> 6] |= std::uint64_t{1} << (r & 63);
}

bool ClassTable::depends_on_ranges(const CharClass& k) const {
  if (k.ignore_case) return true;
  for (const ClassItem& i : k.items) {
    if (i.kind == ClassItem::Range && i.b >= 128) return true;
    if (i.kind == ClassItem::Nested && depends_on_ranges(classes_[i.a])) return true;
  }
  return k.intersected >= 0 && depends_on_ranges(classes_[static_cast<std::size_t>(k.intersected)]);
}

bool ClassTable::evaluate_exactly(const CharClass& k, std::uint32_t c) const {
  bool any = false;
  for (const ClassItem& i : k.items) {
    bool in = false;
    switch (i.kind) {
      case ClassItem::Range: in = c >= i.a && c <= i.b; break;
      case ClassItem::Record: in = in_category(c, i.a) || (record(c).flags & i.b) != 0; break;
      case ClassItem::Nested: in = evaluate(classes_[i.a], c); break;
    }
    any = any || in != i.negated;
  }
  if (k.intersected >= 0) any = any && evaluate(classes_[static_cast<std::size_t>(k.intersected)], c);
  return any;
}

bool ClassTable::evaluate(const CharClass& k, std::uint32_t c) const {
  bool in = evaluate_exactly(k, c);
  if (!in && k.ignore_case) {
    // Simple case folding: every character with the same fold.
    const std::uint32_t folded = fold_case(c);
    in = evaluate_exactly(k, folded);
    for (std::size_t i = 0; i < tables::kNumFold && !in; ++i)
      if (tables::kFold[i].to == folded) in = evaluate_exactly(k, tables::kFold[i].from);
  }
  return in != k.negated;
}

}  // namespace loom::text
