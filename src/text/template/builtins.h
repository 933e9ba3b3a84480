#pragma once
// The tables of filters, tests, global functions and methods, and how arguments reach them.

#include <array>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"
#include "text/template/value.h"

namespace loom::jinja {

class Machine;

struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> keyword;

  bool empty() const { return positional.empty() && keyword.empty(); }
  // Puts arguments in the order of `names`; what was not given is Missing. TemplateError when one is unknown, given
  // twice, too many, or one of the first `required` is missing.
  template <std::size_t N>
  Result<std::array<Value, N>> bind(std::string_view what, const char* const (&names)[N],
                                    std::size_t required = 0) const {
    std::array<Value, N> out;
    LOOM_TRY_VOID(bind_to(what, names, N, required, out.data()));
    return out;
  }
  Result<void> none(std::string_view what) const;

 private:
  Result<void> bind_to(std::string_view what, const char* const* names, std::size_t count, std::size_t required,
                       Value* out) const;
};

using Filter = Result<Value> (*)(Machine&, const Value& subject, const Arguments&);
using Test = Result<bool> (*)(Machine&, const Value& subject, const Arguments&);
using Method = Result<Value> (*)(Machine&, const Value& self, const Arguments&);

struct FilterEntry {
  std::string_view name;
  Filter run;
};
struct TestEntry {
  std::string_view name;
  Test run;
};
struct MethodEntry {
  std::string_view name;
  Method run;  // null: the sandbox refuses it
};

// The tables, by file.
std::span<const FilterEntry> text_filters();
std::span<const FilterEntry> sequence_filters();
std::span<const MethodEntry> text_methods();

// Filters with files of their own.
Result<Value> filter_pprint(Machine& m, const Value& v, const Arguments& args);
Result<Value> filter_striptags(Machine& m, const Value& v, const Arguments& args);
Result<Value> filter_wordwrap(Machine& m, const Value& v, const Arguments& args);
Result<Value> filter_xmlattr(Machine& m, const Value& v, const Arguments& args);

// -1 when there is none.
int find_filter(std::string_view name);
int find_test(std::string_view name);
const FilterEntry& filter_entry(int index);
const TestEntry& test_entry(int index);
// Method `name` of a value's type, or null. Also holds those that the sandbox refuses.
const MethodEntry* find_method(const Value& value, std::string_view name);
const MethodEntry* find_global(std::string_view name);
inline constexpr std::string_view kClockName = "strftime_now";  // a global only where the host gave a time

// Written as in a template or as Python's int() and float() read them (already stripped). Nothing when malformed or too
// large.
std::optional<std::int64_t> parse_integer(std::string_view text, int base = 0);
std::optional<double> parse_number(std::string_view text);

// ---- operators
enum class Op : std::uint8_t;
Result<Value> arithmetic(Machine& m, Op op, const Value& a, const Value& b);
Result<bool> compare(Machine& m, Op op, const Value& a, const Value& b);
Result<bool> contains(Machine& m, const Value& item, const Value& container);
// Python's '...' % value and '...'.format(...).
Result<Value> format_percent(Machine& m, const Value& text, const Value& value);
Result<Value> format_braces(Machine& m, const Value& text, const Arguments& args);
Result<Value> slice(Machine& m, const Value& value, const Value& from, const Value& to, const Value& step);
std::string escape_html(std::string_view text);
// round(value, digits), to even on the exact binary value.
Result<double> round_decimal(double value, std::int64_t digits);

struct MethodObject final : Object {
  MethodObject(Heap& h, Value v, const MethodEntry* e) : Object(h, sizeof(MethodObject)), self(std::move(v)), entry(e) {
    if (const Object* o = self.object()) height = o->height + 1;
  }
  Value self;
  const MethodEntry* entry;
};

}  // namespace loom::jinja
