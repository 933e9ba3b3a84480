#pragma once
// A set of code points as a pattern states it: ranges, \p{..} classes, nested and intersected classes.

#include <array>
#include <cstdint>
#include <vector>

#include "text/unicode/unicode.h"

namespace loom::text {

struct ClassItem {
  enum Kind : std::uint8_t { Range, Record, Nested };
  Kind kind = Range;
  bool negated = false;
  std::uint32_t a = 0, b = 0;  // Range: a..b; Record: categories a, or one of the flags b; Nested: class a
};

struct CharClass {
  std::vector<ClassItem> items;   // after finish() the nested ones that could not be taken in
  std::int32_t intersected = -1;  // class of the same pattern that must hold too ("&&")
  bool negated = false;
  bool ignore_case = false;  // of an outermost class: case counts inside of nested ones, as in Oniguruma
  // Prepared by finish(): what the items take.
  struct Span {
    std::uint32_t first, last;
  };
  std::vector<Span> ranges;                // in order, apart from one another
  std::array<std::uint64_t, 4> records{};  // by record_index()
  std::vector<Span> folded;                // other cases of what the class takes before its negation
  std::uint32_t cost = 0;                  // nested classes that one question may ask
  // Answers.
  std::array<std::uint64_t, 2> ascii{};
  std::array<std::uint64_t, 4> by_record{};  // for other code points, when ranges play no part
  bool has_by_record = false;
};

class ClassTable {
 public:
  std::uint32_t add(CharClass c);
  std::size_t size() const { return classes_.size(); }
  // Prepares the class; the classes that it names must be finished.
  void finish(std::uint32_t index);

  bool contains(std::uint32_t index, std::uint32_t c) const {
    const CharClass& k = classes_[index];
    if (c < 128) return (k.ascii[c >> 6] >> (c & 63) & 1u) != 0;
    if (k.has_by_record) {
      const std::uint8_t r = record_index(c);
      return (k.by_record[r >> 6] >> (r & 63) & 1u) != 0;
    }
    return evaluate(k, c);
  }
  // Questions beyond the first that contains() may ask for a character that is not ASCII.
  std::uint32_t cost(std::uint32_t index) const { return classes_[index].has_by_record ? 0 : classes_[index].cost; }
  bool contains_ascii(std::uint32_t index, std::uint32_t c) const {
    return (classes_[index].ascii[c >> 6] >> (c & 63) & 1u) != 0;
  }

 private:
  bool evaluate(const CharClass& k, std::uint32_t c) const;
  void take_in_items(CharClass& k) const;
  bool takes_base(const CharClass& k, std::uint32_t c) const;
  void take_other_cases(CharClass& k) const;
  bool depends_on_ranges(const CharClass& k) const;

  std::vector<CharClass> classes_;
};

}  // namespace loom::text
