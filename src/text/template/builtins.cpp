// Look-ups in the tables, arguments, and the tests that follow `is`.

#include "text/template/builtins.h"

#include <algorithm>
#include <cmath>

#include "text/template/interpreter.h"
#include "text/template/unicode.h"

namespace loom::jinja {

Result<void> Arguments::none(std::string_view what) const {
  if (!empty())
    return fail(Code::TemplateError, "{} takes no arguments ({} given)", what, positional.size() + keyword.size());
  return {};
}

Result<void> Arguments::bind_to(std::string_view what, const char* const* names, std::size_t count,
                                std::size_t required, Value* out) const {
  if (positional.size() > count)
    return fail(Code::TemplateError, "{} takes at most {} arguments ({} given)", what, count, positional.size());
  std::copy(positional.begin(), positional.end(), out);
  for (const auto& [key, value] : keyword) {
    const auto* end = names + count;
    const auto* it = std::find_if(names, end, [&key = key](const char* name) { return key == name; });
    if (it == end) return fail(Code::TemplateError, "{} got an unexpected keyword argument '{}'", what, key);
    Value& to = out[it - names];
    if (!to.missing()) return fail(Code::TemplateError, "{} got multiple values for argument '{}'", what, key);
    to = value;
  }
  for (std::size_t k = 0; k < required; ++k)
    if (out[k].missing()) return fail(Code::TemplateError, "{} misses the argument '{}'", what, names[k]);
  return {};
}

namespace {

Result<bool> test_remainder(Machine& m, const Value& v, const Value& divisor, std::int64_t expected) {
  LOOM_TRY(const Value rest, arithmetic(m, Op::Mod, v, divisor));
  return equal(rest, Value::integer(expected));
}
Result<bool> test_odd(Machine& m, const Value& v, const Arguments& a) {
  LOOM_TRY_VOID(a.none("odd"));
  return test_remainder(m, v, Value::integer(2), 1);
}
Result<bool> test_even(Machine& m, const Value& v, const Arguments& a) {
  LOOM_TRY_VOID(a.none("even"));
  return test_remainder(m, v, Value::integer(2), 0);
}
Result<bool> test_divisible(Machine& m, const Value& v, const Arguments& args) {
  LOOM_TRY(const auto a, args.bind("divisibleby", {"num"}, 1));
  return test_remainder(m, v, a[0], 0);
}

// Tests of the value alone.
template <bool (*Holds)(const Value&)>
Result<bool> plain_test(Machine&, const Value& v, const Arguments& a) {
  LOOM_TRY_VOID(a.none("the test"));
  return Holds(v);
}
bool holds_defined(const Value& v) { return !v.undefined(); }
bool holds_undefined(const Value& v) { return v.undefined(); }
bool holds_none(const Value& v) { return v.is(Kind::None); }
bool holds_boolean(const Value& v) { return v.is(Kind::Bool); }
bool holds_false(const Value& v) { return v.is(Kind::Bool) && !v.b(); }
bool holds_true(const Value& v) { return v.is(Kind::Bool) && v.b(); }
bool holds_integer(const Value& v) { return v.is(Kind::Int) || v.is(Kind::BigInt); }
bool holds_float(const Value& v) { return v.is(Kind::Float); }
bool holds_number(const Value& v) { return v.numeric() || v.is(Kind::BigInt); }
bool holds_string(const Value& v) { return v.is(Kind::String); }
bool holds_mapping(const Value& v) { return v.is(Kind::Dict); }
bool holds_sequence(const Value& v) {
  return v.is(Kind::String) || v.sequence() || v.is(Kind::Dict) || v.is(Kind::Range) || v.undefined();
}
bool holds_iterable(const Value& v) {
  return holds_sequence(v) || v.is(Kind::Keys) || v.is(Kind::Values) || v.is(Kind::Items) || v.is(Kind::Generator) ||
         v.is(Kind::Loop);
}
bool holds_callable(const Value& v) {
  return v.is(Kind::Macro) || v.is(Kind::Loop) || v.is(Kind::Function) || v.is(Kind::Method) || v.is(Kind::Joiner) ||
         v.undefined();
}
bool holds_escaped(const Value& v) { return v.is(Kind::String) && v.text().markup; }

// str.islower and str.isupper: at least one cased character, and all of them so.
template <bool Lower>
Result<bool> test_case(Machine& m, const Value& v, const Arguments& a) {
  LOOM_TRY_VOID(a.none(Lower ? "lower" : "upper"));
  LOOM_TRY(const std::string text, to_str(m.heap, v));
  LOOM_TRY_VOID(m.heap.decode(text.size()));
  bool any = false;
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint p = decode_at(text, i);
    if (Lower ? is_upper(p.value) || is_title(p.value) : is_lower(p.value) || is_title(p.value)) return false;
    any |= is_cased(p.value);
    i += p.size;
  }
  return any;
}

template <Op O>
Result<bool> test_compare(Machine& m, const Value& v, const Arguments& args) {
  LOOM_TRY(const auto a, args.bind("the comparison", {"other"}, 1));
  return compare(m, O, v, a[0]);
}
Result<bool> test_in(Machine& m, const Value& v, const Arguments& args) {
  LOOM_TRY(const auto a, args.bind("in", {"seq"}, 1));
  return contains(m, v, a[0]);
}
Result<bool> test_same(Machine&, const Value& v, const Arguments& args) {
  LOOM_TRY(const auto a, args.bind("sameas", {"other"}, 1));
  if (v.kind() != a[0].kind()) return false;
  // Small integers and short strings are one object in CPython; equal ones count as the same.
  if (!v.object() || v.is(Kind::String)) return equal(v, a[0]);
  return v.object() == a[0].object();
}
template <int (*Find)(std::string_view)>
Result<bool> test_known(Machine&, const Value& v, const Arguments& a) {
  if (!hashable(v)) return fail(Code::TemplateError, "unhashable type: '{}'", type_name(v));
  LOOM_TRY_VOID(a.none("the test"));
  return v.is(Kind::String) && Find(v.s()) >= 0;
}

constexpr TestEntry kTests[] = {
    {"!=", test_compare<Op::Ne>},
    {"<", test_compare<Op::Lt>},
    {"<=", test_compare<Op::Le>},
    {"==", test_compare<Op::Eq>},
    {">", test_compare<Op::Gt>},
    {">=", test_compare<Op::Ge>},
    {"boolean", plain_test<holds_boolean>},
    {"callable", plain_test<holds_callable>},
    {"defined", plain_test<holds_defined>},
    {"divisibleby", test_divisible},
    {"eq", test_compare<Op::Eq>},
    {"equalto", test_compare<Op::Eq>},
    {"escaped", plain_test<holds_escaped>},
    {"even", test_even},
    {"false", plain_test<holds_false>},
    {"filter", test_known<find_filter>},
    {"float", plain_test<holds_float>},
    {"ge", test_compare<Op::Ge>},
    {"greaterthan", test_compare<Op::Gt>},
    {"gt", test_compare<Op::Gt>},
    {"in", test_in},
    {"integer", plain_test<holds_integer>},
    {"iterable", plain_test<holds_iterable>},
    {"le", test_compare<Op::Le>},
    {"lessthan", test_compare<Op::Lt>},
    {"lower", test_case<true>},
    {"lt", test_compare<Op::Lt>},
    {"mapping", plain_test<holds_mapping>},
    {"ne", test_compare<Op::Ne>},
    {"none", plain_test<holds_none>},
    {"number", plain_test<holds_number>},
    {"odd", test_odd},
    {"sameas", test_same},
    {"sequence", plain_test<holds_sequence>},
    {"string", plain_test<holds_string>},
    {"test", test_known<find_test>},
    {"true", plain_test<holds_true>},
    {"undefined", plain_test<holds_undefined>},
    {"upper", test_case<false>},
};

template <class Table>
int index_of(const Table& table, std::string_view name) {
  for (std::size_t k = 0; k < std::size(table); ++k)
    if (table[k].name == name) return static_cast<int>(k);
  return -1;
}

}  // namespace

int find_test(std::string_view name) { return index_of(kTests, name); }
const TestEntry& test_entry(int index) { return kTests[index]; }

int find_filter(std::string_view name) {
  if (const int k = index_of(text_filters(), name); k >= 0) return k;
  const int k = index_of(sequence_filters(), name);
  return k < 0 ? -1 : k + static_cast<int>(text_filters().size());
}
const FilterEntry& filter_entry(int index) {
  const auto text = text_filters();
  const auto k = static_cast<std::size_t>(index);
  return k < text.size() ? text[k] : sequence_filters()[k - text.size()];
}

}  // namespace loom::jinja
