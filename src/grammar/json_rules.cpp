#include "grammar/json_rules.h"

#include <algorithm>
#include <cmath>

#include "text/unicode/utf8.h"

namespace loom::grammar {
namespace {

constexpr std::uint32_t kMostIndentation = 32;
constexpr std::uint32_t kFirstPlain = 0x20;

constexpr std::uint64_t kMostSize = ~std::uint64_t{0};

}  // namespace

std::optional<Whole> Whole::of(const Json& value) {
  if (const auto* whole = value.get_ptr<const Json::number_unsigned_t*>()) return Whole{false, *whole};
  if (const auto whole = value.is_number_integer() ? as_int(value) : std::nullopt)
    return Whole{*whole < 0, *whole < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(*whole)
                                        : static_cast<std::uint64_t>(*whole)};
  const auto number = value.is_number() ? as_number(value) : std::nullopt;
  return number ? of(*number) : std::nullopt;
}

std::optional<Whole> Whole::of(double value) {
  constexpr double kEnd = 18446744073709551616.0;  // 2^64
  if (std::floor(value) != value || std::abs(value) >= kEnd) return std::nullopt;
  return Whole{value < 0, static_cast<std::uint64_t>(std::abs(value))};
}

std::optional<Whole> Whole::next() const {
  if (is_negative) return Whole{size > 1, size - 1};
  return size == kMostSize ? std::nullopt : std::optional(Whole{false, size + 1});
}

std::optional<Whole> Whole::previous() const {
  if (!is_negative && size > 0) return Whole{false, size - 1};
  return size == kMostSize ? std::nullopt : std::optional(Whole{true, size + 1});
}

JsonRules::JsonRules(Rules& rules) : rules_(rules) {
  const auto named = [&](const char* name, ExprId expr) {
    const RuleId id = rules_.add_rule(name);
    rules_.define(id, expr);
    return rules_.rule(id);
  };
  space_ = named(
      "the space between tokens",
      rules_.choice(
          {rules_.empty(), text(" "),
           rules_.sequence({text("\n"), rules_.repeat(chars({{'\t', '\t'}, {' ', ' '}}), 0, kMostIndentation)})}));
  comma_ = rules_.sequence({text(","), space_});
  colon_ = rules_.sequence({text(":"), space_});
  const ExprId hex = chars({{'0', '9'}, {'A', 'F'}, {'a', 'f'}});
  const ExprId d = chars({{'D', 'D'}, {'d', 'd'}});
  // Surrogates come in pairs.
  const ExprId unit = rules_.choice(
      {rules_.sequence({chars({{'0', '9'}, {'A', 'C'}, {'E', 'F'}, {'a', 'c'}, {'e', 'f'}}), hex, hex, hex}),
       rules_.sequence({d, chars({{'0', '7'}}), hex, hex}),
       rules_.sequence({d, chars({{'8', '9'}, {'A', 'B'}, {'a', 'b'}}), hex, hex, text("\\u"), d,
                        chars({{'C', 'F'}, {'c', 'f'}}), hex, hex})});
  const ExprId escape = rules_.sequence(
      {text("\\"),
       rules_.choice(
           {chars(normalized(
                {{'"', '"'}, {'\\', '\\'}, {'/', '/'}, {'b', 'b'}, {'f', 'f'}, {'n', 'n'}, {'r', 'r'}, {'t', 't'}})),
            rules_.sequence({text("u"), unit})})});
  const CharSet plain = complement(normalized({{0, kFirstPlain - 1}, {'"', '"'}, {'\\', '\\'}}));
  char_ = named("a character of a string", rules_.choice({rules_.chars(plain), escape}));
  string_ = named("a string", rules_.sequence({text("\""), rules_.repeat(char_, 0), text("\"")}));
}

ExprId JsonRules::string_of_length(std::uint32_t min, std::uint32_t max) {
  if (min == 0 && max == kForever) return string_;
  return rules_.sequence({text("\""), rules_.repeat(char_, min, max), text("\"")});
}

ExprId JsonRules::encoded(const CharSet& set) {
  const auto found = encoded_.find(set);
  if (found != encoded_.end()) return found->second;
  const CharSet special = normalized({{0, kFirstPlain - 1}, {'"', '"'}, {'\\', '\\'}});
  std::vector<ExprId> ways{rules_.chars(intersection(set, complement(special)))};
  std::vector<ExprId> escapes;  // without the backslash that all begin with
  for (const CharRange r : intersection(set, special))
    for (std::uint32_t c = r.first; c <= r.last; ++c) {
      const std::string quoted = dump_json(Json(std::string(1, static_cast<char>(c))));
      escapes.push_back(text(std::string_view(quoted).substr(2, quoted.size() - 3)));
    }
  if (!escapes.empty()) ways.push_back(rules_.sequence({text("\\"), rules_.choice(std::move(escapes))}));
  ExprId out = rules_.choice(std::move(ways));
  if (!set.empty() && set.back().last >= 0x80) {  // many bytes: its users share them
    const RuleId id = rules_.add_rule("a character of a pattern");
    rules_.define(id, out);
    out = rules_.rule(id);
  }
  encoded_.emplace(set, out);
  return out;
}

ExprId JsonRules::string_of(const PatternMachine& machine) {
  Machine out;
  for (const PatternMachine::State& state : machine.states) {
    Machine::State copy{.edges = {}, .accepts = state.accepts};
    for (const auto& [set, to] : state.edges) copy.edges.push_back({encoded(machine.sets[set]), to});
    out.states.push_back(std::move(copy));
  }
  return rules_.sequence({text("\""), rules_.machine(std::move(out)), text("\"")});
}

ExprId JsonRules::string_other_than(const std::set<std::string>& names) {
  if (names.empty()) return string_;
  // A tree of the names; a text that leaves it, or ends inside of it, is another one.
  struct Place {
    std::map<std::uint32_t, std::uint32_t> next;
    bool is_name = false;
  };
  std::vector<Place> places(1);
  for (const std::string& name : names) {
    std::uint32_t at = 0;
    text::for_each_code_point(name, [&](std::uint32_t c) {
      const auto [found, is_new] = places[at].next.try_emplace(c, static_cast<std::uint32_t>(places.size()));
      at = found->second;
      if (is_new) places.emplace_back();
    });
    places[at].is_name = true;
  }
  PatternMachine out;
  const auto free = static_cast<std::uint32_t>(places.size());
  const auto add_edge = [&out](PatternMachine::State& state, CharSet set, std::uint32_t to) {
    out.sets.push_back(std::move(set));
    state.edges.push_back({static_cast<std::uint32_t>(out.sets.size() - 1), to});
  };
  for (const Place& place : places) {
    PatternMachine::State state{.accepts = !place.is_name};
    CharSet known;
    for (const auto& [c, to] : place.next) {
      known.push_back({c, c});
      add_edge(state, {{c, c}}, to);
    }
    add_edge(state, complement(normalized(known)), free);
    out.states.push_back(std::move(state));
  }
  PatternMachine::State rest{.accepts = true};
  add_edge(rest, complement({}), free);
  out.states.push_back(std::move(rest));
  return string_of(out);
}

ExprId JsonRules::number(bool is_negative_allowed) {
  const ExprId whole = rules_.choice({text("0"), rules_.sequence({chars({{'1', '9'}}), digits(0)})});
  const ExprId fraction = rules_.sequence({text("."), digits(1)});
  // Exponents end where doubles do, so that readers of doubles do not meet an infinity.
  const ExprId exponent =
      rules_.sequence({chars({{'E', 'E'}, {'e', 'e'}}), rules_.optional(chars({{'+', '+'}, {'-', '-'}})),
                       rules_.choice({digits(1, 2), rules_.sequence({chars({{'1', '2'}}), digits(2, 2)})})});
  return rules_.sequence({is_negative_allowed ? rules_.optional(text("-")) : rules_.empty(), whole,
                          rules_.optional(fraction), rules_.optional(exponent)});
}

// Numbers of as many digits as both ends have. Linear in their number, since one way alone has two ends.
ExprId JsonRules::between(std::string_view low, std::string_view high) {
  const auto d = [](char c) { return static_cast<std::uint32_t>(c); };
  if (low == high) return text(low);
  if (low.size() == 1) return chars({{d(low[0]), d(high[0])}});
  const auto rest = static_cast<std::uint32_t>(low.size() - 1);
  if (low.find_first_not_of('0', 1) == low.npos && high.find_first_not_of('9', 1) == high.npos)
    return rules_.sequence({chars({{d(low[0]), d(high[0])}}), digits(rest, rest)});
  if (low[0] == high[0]) return rules_.sequence({text(low.substr(0, 1)), between(low.substr(1), high.substr(1))});
  const std::string zeros(rest, '0'), nines(rest, '9');
  std::vector<ExprId> ways{rules_.sequence({text(low.substr(0, 1)), between(low.substr(1), nines)}),
                           rules_.sequence({text(high.substr(0, 1)), between(zeros, high.substr(1))})};
  if (low[0] + 1 < high[0])
    ways.push_back(rules_.sequence({chars({{d(low[0]) + 1, d(high[0]) - 1}}), digits(rest, rest)}));
  return rules_.choice(std::move(ways));
}

ExprId JsonRules::natural(std::uint64_t low, std::optional<std::uint64_t> high) {
  const std::string first = std::to_string(low), last = high ? std::to_string(*high) : std::string();
  if (high && *high < low) return rules_.never();
  std::vector<ExprId> ways;
  const std::size_t longest = high ? last.size() : first.size();
  for (std::size_t size = first.size(); size <= longest; ++size) {
    const std::string from = size == first.size() ? first : "1" + std::string(size - 1, '0');
    const std::string to = high && size == last.size() ? last : std::string(size, '9');
    ways.push_back(between(from, to));
  }
  if (!high) ways.push_back(rules_.sequence({chars({{'1', '9'}}), digits(static_cast<std::uint32_t>(longest))}));
  return rules_.choice(std::move(ways));
}

ExprId JsonRules::integer(std::optional<Whole> min, std::optional<Whole> max) {
  if (!min && !max)
    return rules_.sequence(
        {rules_.optional(text("-")), rules_.choice({text("0"), rules_.sequence({chars({{'1', '9'}}), digits(0)})})});
  std::vector<ExprId> ways;
  if (!max || !max->is_negative)
    ways.push_back(natural(min && !min->is_negative ? min->size : 0, max ? std::optional(max->size) : std::nullopt));
  if (!min || min->is_negative) {
    const std::uint64_t nearest = max && max->is_negative ? max->size : 1;
    ways.push_back(rules_.sequence({text("-"), natural(nearest, min ? std::optional(min->size) : std::nullopt)}));
  }
  return rules_.choice(std::move(ways));
}

ExprId JsonRules::surrounded(std::string_view open, ExprId content, std::string_view close) {
  return rules_.sequence({text(open), space_, content, space_, text(close)});
}

ExprId JsonRules::value() {
  if (value_) return *value_;
  const RuleId id = rules_.add_rule("any value");
  value_ = rules_.rule(id);
  const auto list = [&](ExprId item) {
    return rules_.optional(rules_.sequence({item, rules_.repeat(rules_.sequence({comma_, item}), 0)}));
  };
  rules_.define(id,
                rules_.choice({in_braces(list(rules_.sequence({string_, colon_, *value_}))), in_brackets(list(*value_)),
                               string_, number(true), text("true"), text("false"), text("null")}));
  return *value_;
}

// Whole numbers have no fraction, as everywhere else.
std::string JsonRules::literal_text(const Json& value) {
  constexpr double kMostExact = 9007199254740992.0;
  const std::optional<double> number = value.is_number_float() ? as_number(value) : std::nullopt;
  if (number && std::abs(*number) <= kMostExact && std::floor(*number) == *number)
    return fmt::format("{}", static_cast<std::int64_t>(*number));
  return dump_json(value);
}

ExprId JsonRules::literal(const Json& value) {
  if (!value.is_structured()) return text(literal_text(value));
  std::vector<ExprId> items;
  for (const auto& [key, item] : value.items()) {
    if (!items.empty()) items.push_back(comma_);
    if (value.is_object()) items.push_back(rules_.sequence({text(dump_json(Json(key))), colon_}));
    items.push_back(literal(item));
  }
  const ExprId content = rules_.sequence(std::move(items));
  return value.is_object() ? in_braces(content) : in_brackets(content);
}

}  // namespace loom::grammar
