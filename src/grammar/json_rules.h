#pragma once
// The rules of JSON text that schemas are made of. Internal to grammar/.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "core/json.h"
#include "grammar/frontends.h"
#include "grammar/rules.h"

namespace loom::grammar {

// A whole number whose size has 64 bits beside its sign. 0 is not negative.
struct Whole {
  bool is_negative = false;
  std::uint64_t size = 0;

  // Nothing for other values, and beyond 64 bits.
  static std::optional<Whole> of(const Json& value);
  static std::optional<Whole> of(double value);
  // Nothing where 64 bits do not hold it.
  std::optional<Whole> next() const;
  std::optional<Whole> previous() const;
  bool operator==(const Whole&) const = default;
  bool operator<(const Whole& other) const {
    if (is_negative != other.is_negative) return is_negative;
    return is_negative ? size > other.size : size < other.size;
  }
};

class JsonRules {
 public:
  explicit JsonRules(Rules& rules);

  ExprId space() const { return space_; }  // nothing, one space, or a line break with its indentation
  ExprId comma() const { return comma_; }  // with the space that follows
  ExprId colon() const { return colon_; }  // with the space that follows
  ExprId string() const { return string_; }
  ExprId string_of_length(std::uint32_t min, std::uint32_t max);
  // A string whose content the machine takes. Each character has one spelling: itself, or the shortest escape.
  ExprId string_of(const PatternMachine& machine);
  // A string that is none of the names.
  ExprId string_other_than(const std::set<std::string>& names);
  ExprId number(bool is_negative_allowed);
  ExprId integer(std::optional<Whole> min, std::optional<Whole> max);
  ExprId value();  // any JSON value
  ExprId literal(const Json& value);
  // The text of a literal without parts.
  static std::string literal_text(const Json& value);
  ExprId in_braces(ExprId content) { return surrounded("{", content, "}"); }
  ExprId in_brackets(ExprId content) { return surrounded("[", content, "]"); }

 private:
  ExprId surrounded(std::string_view open, ExprId content, std::string_view close);
  ExprId text(std::string_view bytes) { return rules_.text(bytes); }
  ExprId chars(const CharSet& set) { return rules_.chars(set); }
  ExprId encoded(const CharSet& set);
  ExprId digits(std::uint32_t min, std::uint32_t max = kForever) {
    return rules_.repeat(chars({{'0', '9'}}), min, max);
  }
  ExprId between(std::string_view low, std::string_view high);
  ExprId natural(std::uint64_t low, std::optional<std::uint64_t> high);

  Rules& rules_;
  ExprId space_, comma_, colon_, char_, string_;
  std::optional<ExprId> value_;
  std::map<CharSet, ExprId> encoded_;
};

}  // namespace loom::grammar
