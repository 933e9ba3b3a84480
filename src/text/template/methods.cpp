// Methods of the other types, and the global functions.

#include <algorithm>
#include <limits>
#include <optional>

#include "text/template/interpreter.h"
#include "text/template/unicode.h"

namespace loom::jinja {
namespace {

// ---- dict

Result<Value> dict_get(Machine&, const Value& self, const Arguments& args) {
  if (!args.keyword.empty()) return fail(Code::TemplateError, "dict.get() takes no keyword arguments");
  LOOM_TRY(const auto a, args.bind("get", {"key", "default"}, 1));
  if (!hashable(a[0])) return fail(Code::TemplateError, "unhashable type: '{}'", type_name(a[0]));
  if (const Value* v = self.dict().find(a[0])) return *v;
  return a[1].missing() ? Value::none() : a[1];
}

template <Kind View>
Result<Value> dict_view(Machine& m, const Value& self, const Arguments& a) {
  LOOM_TRY_VOID(a.none("the view"));
  std::vector<Value> out;
  out.reserve(self.dict().items.size());
  for (const auto& [key, value] : self.dict().items) {
    if (View == Kind::Items) {
      LOOM_TRY(Value pair, make_sequence(m.heap, Kind::Tuple, {key, value}));
      out.push_back(std::move(pair));
    } else {
      out.push_back(View == Kind::Keys ? key : value);
    }
  }
  return make_sequence(m.heap, View, std::move(out));
}
Result<Value> copy_self(Machine&, const Value& self, const Arguments& a) {
  LOOM_TRY_VOID(a.none("copy"));
  return self;  // it is immutable, so it needs no copy
}

// ---- list and tuple

Result<Value> list_count(Machine& m, const Value& self, const Arguments& args) {
  LOOM_TRY(const auto a, args.bind("count", {"value"}, 1));
  std::int64_t n = 0;
  LOOM_TRY_VOID(m.heap.tick(self.items().size()));
  for (const Value& v : self.items()) n += equal(v, a[0]);
  return Value::integer(n);
}
Result<Value> list_index(Machine& m, const Value& self, const Arguments& args) {
  LOOM_TRY(const auto a, args.bind("index", {"value", "start", "stop"}, 1));
  const auto size = static_cast<std::int64_t>(self.items().size());
  std::int64_t bounds[2] = {0, size};
  for (std::size_t k = 0; k < 2; ++k) {
    const Value& v = a[k + 1];
    if (v.missing()) continue;
    if (!v.integral()) return fail(Code::TemplateError, "slice indices must be integers or have an __index__ method");
    bounds[k] = v.i() < 0 ? std::max<std::int64_t>(v.i() < -size ? 0 : v.i() + size, 0) : std::min(v.i(), size);
  }
  LOOM_TRY_VOID(m.heap.tick(self.items().size()));
  for (std::int64_t k = bounds[0]; k < bounds[1]; ++k)
    if (equal(self.items()[static_cast<std::size_t>(k)], a[0])) return Value::integer(k);
  return fail(Code::TemplateError, "the value is not in the {}", type_name(self));
}

// ---- numbers

Result<Value> bit_length(Machine&, const Value& self, const Arguments& a) {
  LOOM_TRY_VOID(a.none("bit_length"));
  auto u = static_cast<std::uint64_t>(self.i());
  if (self.i() < 0) u = 0 - u;
  std::int64_t n = 0;
  for (; u != 0; u >>= 1) ++n;
  return Value::integer(n);
}
Result<Value> is_integer(Machine&, const Value& self, const Arguments& a) {
  LOOM_TRY_VOID(a.none("is_integer"));
  const double d = self.f();
  return Value::boolean(d - d == 0 && round_decimal(d, 0).value_or(0.5) == d);
}

Result<Value> int_conjugate(Machine&, const Value& self, const Arguments& a) {
  LOOM_TRY_VOID(a.none("conjugate"));
  return Value::integer(self.i());  // of a bool: 0 or 1
}

// ---- loop, cycler

Result<Value> loop_cycle(Machine&, const Value& self, const Arguments& args) {
  if (args.positional.empty()) return fail(Code::TemplateError, "no items for cycling given");
  if (!args.keyword.empty()) return fail(Code::TemplateError, "cycle() takes no keyword arguments");
  return args.positional[static_cast<std::size_t>(self.as<LoopObject>().index0) % args.positional.size()];
}
Result<Value> loop_changed(Machine& m, const Value& self, const Arguments& args) {
  auto& loop = self.as<LoopObject>();
  LOOM_TRY(Value now, make_sequence(m.heap, Kind::Tuple, args.positional));
  const bool changed = loop.changed.missing() || !equal(loop.changed, now);
  if (changed) loop.changed = std::move(now);
  return Value::boolean(changed);
}
Result<Value> cycler_next(Machine&, const Value& self, const Arguments& a) {
  LOOM_TRY_VOID(a.none("next"));
  auto& c = self.as<CyclerObject>();
  Value out = c.items[c.position];
  c.position = (c.position + 1) % c.items.size();
  return out;
}
Result<Value> cycler_reset(Machine&, const Value& self, const Arguments& a) {
  LOOM_TRY_VOID(a.none("reset"));
  self.as<CyclerObject>().position = 0;
  return Value::none();
}

constexpr MethodEntry kDictMethods[] = {
    {"clear", nullptr},
    {"copy", copy_self},
    {"get", dict_get},
    {"items", dict_view<Kind::Items>},
    {"keys", dict_view<Kind::Keys>},
    {"pop", nullptr},
    {"popitem", nullptr},
    {"setdefault", nullptr},
    {"update", nullptr},
    {"values", dict_view<Kind::Values>},
};
constexpr MethodEntry kListMethods[] = {
    {"append", nullptr}, {"clear", nullptr},    {"copy", copy_self}, {"count", list_count},
    {"extend", nullptr}, {"index", list_index}, {"insert", nullptr}, {"pop", nullptr},
    {"remove", nullptr}, {"reverse", nullptr},  {"sort", nullptr},
};
constexpr MethodEntry kTupleMethods[] = {{"count", list_count}, {"index", list_index}};
constexpr MethodEntry kIntMethods[] = {{"bit_length", bit_length}, {"conjugate", int_conjugate}};
constexpr MethodEntry kFloatMethods[] = {{"is_integer", is_integer}, {"conjugate", copy_self}};
constexpr MethodEntry kLoopMethods[] = {{"cycle", loop_cycle}, {"changed", loop_changed}};
constexpr MethodEntry kCyclerMethods[] = {{"next", cycler_next}, {"reset", cycler_reset}};

std::span<const MethodEntry> methods_of(Kind kind) {
  switch (kind) {
    case Kind::String: return text_methods();
    case Kind::Dict: return kDictMethods;
    case Kind::List: return kListMethods;
    case Kind::Tuple: return kTupleMethods;
    case Kind::Bool:
    case Kind::Int: return kIntMethods;
    case Kind::Float: return kFloatMethods;
    case Kind::Loop: return kLoopMethods;
    case Kind::Cycler: return kCyclerMethods;
    default: return {};
  }
}

// ---- globals

Result<Value> global_raise(Machine& m, const Value&, const Arguments& args) {
  LOOM_TRY(const auto a, args.bind("raise_exception", {"message"}, 1));
  LOOM_TRY(std::string text, to_str(m.heap, a[0]));
  return fail(Code::TemplateError, "{}", shortened(text, 2000));
}

Result<Value> global_range(Machine& m, const Value&, const Arguments& args) {
  constexpr std::int64_t kMaxRange = 100000;  // the sandbox's
  if (args.positional.empty() || !args.keyword.empty() || args.positional.size() > 3)
    return fail(Code::TemplateError, "range expected 1 to 3 arguments, got {}", args.positional.size());
  std::int64_t v[3] = {0, 0, 1};
  for (std::size_t k = 0; k < args.positional.size(); ++k) {
    const Value& a = args.positional[k];
    if (!a.integral())
      return fail(Code::TemplateError, "'{}' object cannot be interpreted as an integer", type_name(a));
    v[args.positional.size() == 1 ? 1 : k] = a.i();
  }
  if (v[2] == 0) return fail(Code::TemplateError, "range() arg 3 must not be zero");
  // In unsigned numbers: the distance of two int64 may not fit in one.
  const bool up = v[2] > 0;
  std::uint64_t distance = 0;
  if (up ? v[0] < v[1] : v[0] > v[1])
    distance = up ? static_cast<std::uint64_t>(v[1]) - static_cast<std::uint64_t>(v[0])
                  : static_cast<std::uint64_t>(v[0]) - static_cast<std::uint64_t>(v[1]);
  const std::uint64_t step = up ? static_cast<std::uint64_t>(v[2]) : 0 - static_cast<std::uint64_t>(v[2]);
  const std::uint64_t count = distance == 0 ? 0 : (distance - 1) / step + 1;
  if (count > kMaxRange)
    return fail(Code::TemplateError, "Range too big. The sandbox blocks ranges larger than MAX_RANGE ({}).", kMaxRange);
  return Value::of(Kind::Range, new RangeObject(m.heap, v[0], v[1], v[2], static_cast<std::int64_t>(count)));
}

// The pairs of dict(...) and namespace(...): a mapping or pairs, then keywords.
Result<std::vector<std::pair<Value, Value>>> pairs_of(Machine& m, const Arguments& args, std::string_view what) {
  std::vector<std::pair<Value, Value>> out;
  if (args.positional.size() > 1)
    return fail(Code::TemplateError, "{} expected at most 1 argument, got {}", what, args.positional.size());
  if (!args.positional.empty()) {
    const Value& from = args.positional[0];
    if (from.is(Kind::Dict)) {
      out = from.dict().items;
    } else {
      LOOM_TRY(const auto items, to_list(m.heap, from));
      for (const Value& item : items) {
        LOOM_TRY(const auto pair, to_list(m.heap, item));
        if (pair.size() != 2)
          return fail(Code::TemplateError, "dictionary update sequence element has length {}; 2 is required",
                      pair.size());
        out.emplace_back(pair[0], pair[1]);
      }
    }
  }
  for (const auto& [key, value] : args.keyword) out.emplace_back(m.string(key), value);
  return out;
}
Result<Value> global_dict(Machine& m, const Value&, const Arguments& args) {
  LOOM_TRY(auto pairs, pairs_of(m, args, "dict"));
  return make_dict(m.heap, std::move(pairs));
}
Result<Value> global_namespace(Machine& m, const Value&, const Arguments& args) {
  LOOM_TRY(auto pairs, pairs_of(m, args, "namespace"));
  Ref<NamespaceObject> space(new NamespaceObject(m.heap));
  m.heap.retain(*space);
  for (auto& [key, value] : pairs) {
    if (!key.is(Kind::String)) continue;  // no attribute can name it
    LOOM_TRY_VOID(m.heap.tick());
    space->set(key.s(), value);
  }
  return Value::of(Kind::Namespace, space.get());
}
Result<Value> global_cycler(Machine& m, const Value&, const Arguments& args) {
  if (args.positional.empty() || !args.keyword.empty())
    return fail(Code::TemplateError, "at least one item has to be provided");
  Ref<CyclerObject> cycler(new CyclerObject(m.heap));
  cycler->grow(args.positional.size() * sizeof(Value));
  cycler->items = args.positional;
  LOOM_TRY(cycler->height, height_over(cycler->items));
  return Value::of(Kind::Cycler, cycler.get());
}
Result<Value> global_joiner(Machine& m, const Value&, const Arguments& args) {
  LOOM_TRY(const auto a, args.bind("joiner", {"sep"}));
  Ref<CyclerObject> joiner(new CyclerObject(m.heap));
  joiner->items.push_back(a[0].missing() ? m.string(", ") : a[0]);
  LOOM_TRY(joiner->height, height_over(joiner->items));
  return Value::of(Kind::Joiner, joiner.get());
}
Result<Value> global_lipsum(Machine&, const Value&, const Arguments&) {
  return fail(Code::Unsupported, "lipsum() is random and not supported");
}

// The blocks of a template that inherits, which are refused. In jinja2 it prints as <TemplateReference None>.
Result<Value> global_self(Machine&, const Value&, const Arguments&) {
  return fail(Code::TemplateError, "'TemplateReference' object is not callable");
}

// ---- strftime, in the C locale

constexpr const char* kDays[] = {"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};
constexpr const char* kMonths[] = {"January", "February", "March",     "April",   "May",      "June",
                                   "July",    "August",   "September", "October", "November", "December"};

struct Calendar {
  int weekday = 0;   // 0: Sunday
  int year_day = 0;  // from 0
};
Calendar calendar(const TemplateTime& t) {
  constexpr int kBefore[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
  const bool leap = (t.year % 4 == 0 && t.year % 100 != 0) || t.year % 400 == 0;
  Calendar c;
  c.year_day = kBefore[t.month - 1] + t.day - 1 + (leap && t.month > 2 ? 1 : 0);
  const int y = t.year - 1;
  c.weekday = (y * 365 + y / 4 - y / 100 + y / 400 + c.year_day + 1) % 7;  // 1 January of year 1 was a Monday
  return c;
}

Result<std::string> strftime_text(const TemplateTime& t, std::string_view format);

// A directive that stands for others; empty: it does not.
std::string_view composed_of(char code) {
  switch (code) {
    case 'F': return "%Y-%m-%d";
    case 'T':
    case 'X': return "%H:%M:%S";
    case 'R': return "%H:%M";
    case 'r': return "%I:%M:%S %p";
    case 'D':
    case 'x': return "%m/%d/%y";
    case 'c': return "%a %b %e %H:%M:%S %Y";
    default: return {};
  }
}

// The words of a directive; absent for one that is not of words.
std::optional<std::string_view> word_of(const TemplateTime& t, const Calendar& c, char code) {
  switch (code) {
    case 'p': return t.hour < 12 ? "AM" : "PM";
    case 'P': return t.hour < 12 ? "am" : "pm";
    case 'A': return kDays[c.weekday];
    case 'a': return std::string_view(kDays[c.weekday]).substr(0, 3);
    case 'B': return kMonths[t.month - 1];
    case 'b':
    case 'h': return std::string_view(kMonths[t.month - 1]).substr(0, 3);
    case 'z':
    case 'Z': return "";  // the time has no zone
    case 'n': return "\n";
    case 't': return "\t";
    case '%': return "%";
    default: return std::nullopt;
  }
}

struct PaddedNumber {
  int value = 0, width = 0;
  char fill = '0';
};
std::optional<PaddedNumber> number_of(const TemplateTime& t, const Calendar& c, char code) {
  const int hour12 = t.hour % 12 == 0 ? 12 : t.hour % 12;
  switch (code) {
    case 'Y': return PaddedNumber{t.year, 1};
    case 'y': return PaddedNumber{t.year % 100, 2};
    case 'C': return PaddedNumber{t.year / 100, 2};
    case 'm': return PaddedNumber{t.month, 2};
    case 'd': return PaddedNumber{t.day, 2};
    case 'e': return PaddedNumber{t.day, 2, ' '};
    case 'H': return PaddedNumber{t.hour, 2};
    case 'k': return PaddedNumber{t.hour, 2, ' '};
    case 'I': return PaddedNumber{hour12, 2};
    case 'l': return PaddedNumber{hour12, 2, ' '};
    case 'M': return PaddedNumber{t.minute, 2};
    case 'S': return PaddedNumber{t.second, 2};
    case 'j': return PaddedNumber{c.year_day + 1, 3};
    case 'u': return PaddedNumber{c.weekday == 0 ? 7 : c.weekday, 1};
    case 'w': return PaddedNumber{c.weekday, 1};
    case 'U': return PaddedNumber{(c.year_day + 7 - c.weekday) / 7, 2};
    case 'W': return PaddedNumber{(c.year_day + 7 - (c.weekday + 6) % 7) / 7, 2};
    default: return std::nullopt;
  }
}

// The text of %code; `pad` is the flag between them, or 0.
Result<std::string> directive_text(const TemplateTime& t, const Calendar& c, char code, char pad) {
  if (const std::string_view others = composed_of(code); !others.empty()) return strftime_text(t, others);
  if (code == 'f') return fmt::format("{:06}", t.microsecond);
  if (const auto word = word_of(t, c, code)) return std::string(*word);
  const auto number = number_of(t, c, code);
  if (!number) return fail(Code::Unsupported, "strftime_now: the directive %{} is not supported", code);
  const char fill = pad == '-' ? '\0' : pad == '_' ? ' ' : pad == '0' ? '0' : number->fill;
  std::string text = fmt::format("{}", number->value);
  if (fill && static_cast<int>(text.size()) < number->width)
    text.insert(0, static_cast<std::size_t>(number->width) - text.size(), fill);
  return text;
}

Result<std::string> strftime_text(const TemplateTime& t, std::string_view format) {
  const Calendar c = calendar(t);
  std::string out;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%' || i + 1 == format.size()) {
      out += format[i];
      continue;
    }
    char code = format[++i];
    char pad = 0;
    if ((code == '-' || code == '_' || code == '0') && i + 1 < format.size()) pad = std::exchange(code, format[++i]);
    LOOM_TRY(const std::string text, directive_text(t, c, code, pad));
    out += text;
  }
  return out;
}

Result<Value> global_strftime(Machine& m, const Value&, const Arguments& args) {
  LOOM_TRY(const auto a, args.bind("strftime_now", {"format"}, 1));
  if (!a[0].is(Kind::String))
    return fail(Code::TemplateError, "strftime_now: expected a str, got '{}'", type_name(a[0]));
  const TemplateTime& t = *m.now();
  const bool valid = t.year >= 1 && t.year <= 9999 && t.month >= 1 && t.month <= 12 && t.day >= 1 && t.day <= 31 &&
                     t.hour >= 0 && t.hour < 24 && t.minute >= 0 && t.minute < 60 && t.second >= 0 && t.second <= 60 &&
                     t.microsecond >= 0 && t.microsecond < 1000000;
  if (!valid) return fail(Code::InvalidArgument, "strftime_now: the caller's time is no date");
  LOOM_TRY_VOID(m.heap.reserve(a[0].s().size() * 16));
  LOOM_TRY(std::string text, strftime_text(t, a[0].s()));
  return m.string(std::move(text));
}

constexpr MethodEntry kGlobals[] = {
    {"cycler", global_cycler}, {"dict", global_dict},           {"joiner", global_joiner},
    {"lipsum", global_lipsum}, {"namespace", global_namespace}, {"raise_exception", global_raise},
    {"range", global_range},   {"self", global_self},           {kClockName, global_strftime},
};

const MethodEntry* entry_in(std::span<const MethodEntry> table, std::string_view name) {
  for (const MethodEntry& e : table)
    if (e.name == name) return &e;
  return nullptr;
}

}  // namespace

const MethodEntry* find_method(const Value& value, std::string_view name) {
  return entry_in(methods_of(value.kind()), name);
}
const MethodEntry* find_global(std::string_view name) { return entry_in(kGlobals, name); }

}  // namespace loom::jinja
