// JSON Schema (2020-12, and draft 7's names where they mean the same) as rules. A value must satisfy a set of schemas
// at once: references and allOf add to the set, anyOf and oneOf choose. The others are keywords of one level, which
// each type of value answers for itself, as the specification says.

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>

#include "core/json.h"
#include "grammar/frontends.h"
#include "grammar/json_rules.h"
#include "text/unicode/utf8.h"

namespace loom::grammar {
namespace {

using Schemas = std::vector<const Json*>;  // that hold together

enum Type : std::uint8_t {
  Null = 1,
  Boolean = 2,
  Integer = 4,
  Fraction = 8,
  String = 16,
  Array = 32,
  Object = 64,
  All = 127
};

std::uint8_t type_named(std::string_view name) {
  if (name == "null") return Null;
  if (name == "boolean") return Boolean;
  if (name == "integer") return Integer;
  if (name == "number") return Integer | Fraction;
  if (name == "string") return String;
  if (name == "array") return Array;
  if (name == "object") return Object;
  return 0;
}

std::uint8_t type_of(const Json& value) {
  if (value.is_null()) return Null;
  if (value.is_boolean()) return Boolean;
  if (value.is_number_integer()) return Integer;
  if (value.is_number()) {
    const std::optional<double> v = as_number(value);
    return v && std::floor(*v) == *v ? Integer : Fraction;
  }
  if (value.is_string()) return String;
  return value.is_array() ? Array : Object;
}

constexpr std::string_view kAnnotations[] = {
    "$schema",         "$comment",         "$defs",         "definitions", "$anchor",  "title",
    "description",     "default",          "example",       "examples",    "readOnly", "writeOnly",
    "contentEncoding", "contentMediaType", "discriminator", "deprecated"};
constexpr std::string_view kKeywords[] = {"type",
                                          "enum",
                                          "const",
                                          "properties",
                                          "required",
                                          "additionalProperties",
                                          "items",
                                          "prefixItems",
                                          "additionalItems",
                                          "minItems",
                                          "maxItems",
                                          "minLength",
                                          "maxLength",
                                          "pattern",
                                          "format",
                                          "minimum",
                                          "maximum",
                                          "exclusiveMinimum",
                                          "exclusiveMaximum",
                                          "minProperties",
                                          "maxProperties",
                                          "uniqueItems"};
constexpr std::string_view kChoices[] = {"$ref", "allOf", "anyOf", "oneOf"};

bool is_among(std::string_view name, std::span<const std::string_view> list) {
  return std::ranges::find(list, name) != list.end();
}

// Formats as whole patterns.
std::string_view format_pattern(std::string_view name) {
#define LOOM_DATE                                                                             \
  "(([1-9]\\d{3}|0[1-9]\\d\\d|00[1-9]\\d|000[1-9])-((0[13578]|1[02])-(0[1-9]|[12]\\d|3[01])|" \
  "(0[469]|11)-(0[1-9]|[12]\\d|30)|02-(0[1-9]|1\\d|2[0-8]))|"                                 \
  "(\\d\\d(0[48]|[2468][048]|[13579][26])|([13579][26]|[2468][048]|0[48])00)-02-29)"
#define LOOM_TIME "(([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(\\.\\d{1,9})?([Zz]|[+-]([01]\\d|2[0-3]):[0-5]\\d))"
  if (name == "date") return LOOM_DATE;
  if (name == "time") return LOOM_TIME;
  if (name == "date-time") return LOOM_DATE "[Tt]" LOOM_TIME;
  if (name == "uuid") return "[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}";
  if (name == "ipv4") return "((25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)\\.){3}(25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)";
  if (name == "email")
    return "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]{1,32}(\\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]{1,30})?@"
           "([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\\.)+[A-Za-z]{2,24}";
  return {};
#undef LOOM_DATE
#undef LOOM_TIME
}

bool takes(const PatternMachine& machine, std::string_view text) {
  std::set<std::uint32_t> states{0};
  text::for_each_code_point(text, [&](std::uint32_t c) {
    std::set<std::uint32_t> next;
    for (const std::uint32_t state : states)
      for (const PatternMachine::Edge& edge : machine.states[state].edges)
        if (contains(machine.sets[edge.set], c)) next.insert(edge.to);
    states = std::move(next);
  });
  return std::ranges::any_of(states, [&](std::uint32_t s) { return machine.states[s].accepts; });
}

class SchemaCompiler {
 public:
  SchemaCompiler(const Json& root, Rules& rules) : root_(root), rules_(rules), json_(rules) {}

  Result<RuleId> run(const Json& part) {
    const RuleId out = rules_.add_rule("the document");
    LOOM_TRY(const ExprId root, expr_of({&part}));
    rules_.define(out, root);
    for (; !jobs_.empty(); jobs_.pop_front()) {
      steps_ += jobs_.front().schemas.size();
      if (rules_.is_full() || steps_ > kMostSteps) return too_large();
      LOOM_TRY(const ExprId expr, leaf(jobs_.front().schemas));
      rules_.define(jobs_.front().rule, expr);
    }
    return out;
  }

 private:
  static constexpr std::size_t kMostSteps = std::size_t{1} << 18, kMostAlternatives = 1024, kMostBranches = 256,
                               kMostNamed = 64, kFewMembers = 16, kMostCompared = std::size_t{1} << 22;
  static constexpr int kDeepestComparison = 8;
  struct Job {
    Schemas schemas;
    RuleId rule;
  };

  // Like find(), which looks through all members.
  const Json* member(const Json& object, const std::string& name) const {
    if (!object.is_object() || object.size() <= kFewMembers) return find(object, name);
    const auto [index, is_new] = indices_.try_emplace(&object);
    if (is_new)
      for (const auto& [key, value] : object.items()) index->second.emplace(key, &value);
    const auto found = index->second.find(name);
    return found == index->second.end() ? nullptr : found->second;
  }

  static tl::unexpected<Error> too_large() {
    return fail(Code::LimitExceeded, "the schema is too large: its combinations need more than {} steps", kMostSteps);
  }

  // The place of a schema inside of the document, found by a search: errors are rare.
  bool find_place(const Json& at, const Json* schema, Steps& steps) const {
    if (&at == schema) return true;
    if (!at.is_structured()) return false;
    std::size_t index = 0;
    for (const auto& [key, item] : at.items()) {
      steps.push_back(at.is_object() ? std::string(key) : std::to_string(index));
      if (find_place(item, schema, steps)) return true;
      steps.pop_back();
      ++index;
    }
    return false;
  }
  template <class... Args>
  tl::unexpected<Error> bad(const Json* schema, std::string_view keyword, fmt::format_string<Args...> text,
                            Args&&... args) const {
    Steps steps;
    find_place(root_, schema, steps);
    if (!keyword.empty()) steps.emplace_back(keyword);
    return fail_at(std::move(steps), Code::InvalidArgument, text, std::forward<Args>(args)...);
  }
  tl::unexpected<Error> lacks(const Json* schema, std::string_view keyword) const {
    return bad(schema, keyword, "this keyword is not supported");
  }

  // --- Sets of schemas -------------------------------------------------------------------------------------------

  Result<ExprId> expr_of(const Schemas& wholes) {
    LOOM_TRY(const std::vector<Schemas> alternatives, expand(wholes));
    std::vector<ExprId> ways;
    ways.reserve(alternatives.size());
    for (const Schemas& schemas : alternatives) ways.push_back(schemas.empty() ? json_.value() : leaf_rule(schemas));
    return rules_.choice(std::move(ways));
  }

  ExprId leaf_rule(const Schemas& schemas) {
    const auto [found, is_new] = leaf_rules_.try_emplace(schemas, 0);
    if (is_new) {
      Steps steps;
      if (leaf_rules_.size() <= kMostNamed) find_place(root_, schemas[0], steps);  // for messages about the rule
      found->second = rules_.add_rule(steps.empty() ? "the schema" : pointer_text(steps));
      jobs_.push_back({schemas, found->second});
    }
    return rules_.rule(found->second);
  }

  // Schemas with keywords of one level alone, all of one list holding together; each list is one way.
  struct Pending {
    const Json* schema;
    std::ptrdiff_t parent;  // among `expanded`, -1: none
  };
  struct Partial {
    std::vector<Pending> todo, groups, expanded;  // groups: lists of which one schema must hold
    Schemas leaves;
  };
  Result<std::vector<Schemas>> expand(const Schemas& wholes) {
    std::vector<Schemas> out;
    std::vector<Partial> partials(1);
    for (const Json* schema : wholes) partials[0].todo.push_back({schema, -1});
    while (!partials.empty()) {
      Partial partial = std::move(partials.back());
      partials.pop_back();
      bool is_possible = true;
      while (is_possible && !partial.todo.empty()) {
        if (++steps_ > kMostSteps) return too_large();
        const Pending next = partial.todo.back();
        partial.todo.pop_back();
        LOOM_TRY(is_possible, take(next, partial));
      }
      if (!is_possible) continue;
      if (partial.groups.empty()) {
        std::ranges::sort(partial.leaves, {}, [this](const Json* leaf) { return order_.at(leaf); });
        partial.leaves.erase(std::unique(partial.leaves.begin(), partial.leaves.end()), partial.leaves.end());
        if (std::ranges::find(out, partial.leaves) == out.end()) out.push_back(std::move(partial.leaves));
        if (out.size() > kMostAlternatives) return too_large();
        continue;
      }
      const Pending group = partial.groups.back();
      partial.groups.pop_back();
      for (auto it = group.schema->rbegin(); it != group.schema->rend(); ++it) {
        steps_ += 1 + partial.expanded.size();
        if (steps_ > kMostSteps) return too_large();
        Partial branch = partial;
        branch.todo.push_back({&*it, group.parent});
        partials.push_back(std::move(branch));
      }
    }
    return out;
  }

  Result<bool> take(const Pending& next, Partial& partial) {
    const Json* schema = next.schema;
    if (schema->is_boolean()) return *schema == Json(true);
    if (!schema->is_object()) return bad(schema, "", "expected a schema: an object, true or false");
    for (std::ptrdiff_t up = next.parent; up >= 0; up = partial.expanded[static_cast<std::size_t>(up)].parent)
      if (partial.expanded[static_cast<std::size_t>(up)].schema == schema)
        return bad(schema, "", "the schema refers to itself without a property or an item between");
    for (const Pending& done : partial.expanded)
      if (done.schema == schema) return true;
    if (order_.try_emplace(schema, order_.size()).second) LOOM_TRY_VOID(check_keywords(schema));
    const auto self = static_cast<std::ptrdiff_t>(partial.expanded.size());
    partial.expanded.push_back(next);
    if (const Json* ref = find(*schema, "$ref")) {
      LOOM_TRY(const Json* target, resolve(schema, *ref));
      partial.todo.push_back({target, self});
    }
    if (const Json* all = find(*schema, "allOf"))
      for (auto part = all->rbegin(); part != all->rend(); ++part) partial.todo.push_back({&*part, self});
    for (const char* keyword : {"anyOf", "oneOf"})
      if (const Json* group = find(*schema, keyword)) {
        if (const Json* merged = merged_constants(*group, keyword == std::string_view("oneOf")))
          partial.leaves.push_back(merged);
        else
          partial.groups.push_back({group, self});
      }
    for (const auto& [key, unused] : schema->items())
      if (is_among(key, kKeywords)) {
        partial.leaves.push_back(schema);
        break;
      }
    return true;
  }

  Result<void> check_keywords(const Json* schema) {
    for (const auto& [key, value] : schema->items()) {
      if (key == "$id" && schema == &root_) continue;
      if (!is_among(key, kAnnotations) && !is_among(key, kKeywords) && !is_among(key, kChoices) &&
          !std::string_view(key).starts_with("x-"))
        return lacks(schema, key);
    }
    for (const char* keyword : {"allOf", "anyOf", "oneOf"})
      if (const Json* list = find(*schema, keyword); list != nullptr && (!list->is_array() || list->empty()))
        return bad(schema, keyword, "expected a list of schemas");
    const Json* one = find(*schema, "oneOf");
    if (one == nullptr || merged_constants(*one, true) != nullptr) return {};
    if (one->size() > kMostBranches) return bad(schema, "oneOf", "more than {} schemas", kMostBranches);
    for (std::size_t i = 0; i < one->size(); ++i)
      for (std::size_t j = i + 1; j < one->size(); ++j)
        if (!disjoint(&(*one)[i], &(*one)[j], 0))
          return bad(schema, "oneOf",
                     "schemas {} and {} may both hold, which is not supported: write anyOf, or give "
                     "them different types or a required property with different constants",
                     i, j);
    return {};
  }

  // One schema {"enum"} for a list of schemas that name constants alone, as generators of schemas write thousands of
  // choices; null for other lists and, where one schema alone may hold, for those that name a constant twice.
  const Json* merged_constants(const Json& group, bool is_one_of) {
    const auto [found, is_new] = merged_.try_emplace(&group, nullptr);
    if (!is_new || !group.is_array()) return found->second;
    struct Value {
      const Json* value;
      std::size_t branch;
    };
    std::vector<Value> values;
    for (std::size_t i = 0; i < group.size(); ++i) {
      const auto list = constants_of(group[i]);
      if (!list) return nullptr;
      for (const Json* value : *list) values.push_back({value, i});
    }
    steps_ += values.size();
    std::vector<Value> sorted = values;
    std::ranges::sort(sorted, [](const Value& a, const Value& b) { return *a.value < *b.value; });
    for (std::size_t i = 1; is_one_of && i < sorted.size(); ++i)
      if (*sorted[i].value == *sorted[i - 1].value && sorted[i].branch != sorted[i - 1].branch) return nullptr;
    Json list = Json::array();
    for (const Value& value : values) list.push_back(*value.value);
    made_.push_back(Json{{"enum", std::move(list)}});
    order_.try_emplace(&made_.back(), order_.size());
    return merged_[&group] = &made_.back();
  }
  // The values that a schema of constants alone allows.
  static std::optional<std::vector<const Json*>> constants_of(const Json& schema) {
    if (!schema.is_object() || (find(schema, "const") != nullptr) == (find(schema, "enum") != nullptr))
      return std::nullopt;
    std::uint8_t types = All;
    for (const auto& [key, value] : schema.items()) {
      const std::string* const name = key == "type" ? as_string(value) : nullptr;
      if (name != nullptr && type_named(*name) != 0)
        types = type_named(*name);
      else if (key != "const" && key != "enum" && !is_among(key, kAnnotations) &&
               !std::string_view(key).starts_with("x-"))
        return std::nullopt;
    }
    auto out = values_of(schema);
    if (out) std::erase_if(*out, [&](const Json* value) { return (type_of(*value) & types) == 0; });
    return out;
  }

  Result<const Json*> resolve(const Json* schema, const Json& ref) const {
    const std::string* text = as_string(ref);
    if (text == nullptr || !text->starts_with("#") || (text->size() > 1 && (*text)[1] != '/'))
      return bad(schema, "$ref", "expected a reference inside of the schema, \"#\" or \"#/...\"");
    const Json* at = &root_;
    for (std::size_t begin = 1; begin < text->size();) {
      const std::size_t end = std::min(text->find('/', begin + 1), text->size());
      const std::string step = unescaped(std::string_view(*text).substr(begin + 1, end - begin - 1));
      begin = end;
      const Json* next = nullptr;
      if (at->is_object()) next = member(*at, step);
      if (at->is_array() && !step.empty() && step.size() < 7 &&
          std::ranges::all_of(step, [](char c) { return c >= '0' && c <= '9'; })) {
        std::size_t index = 0;
        for (const char c : step) index = index * 10 + static_cast<std::size_t>(c - '0');
        if (index < at->size()) next = &(*at)[index];
      }
      if (next == nullptr) return bad(schema, "$ref", "nothing is at {}", text::to_valid_utf8(*text).substr(0, 200));
      at = next;
    }
    return at;
  }

  // A step of a JSON pointer in a URI fragment, without its escapes %25, ~1 and ~0.
  static std::string unescaped(std::string_view step) {
    std::string plain, out;
    const auto hex = [](char c) {
      return c >= '0' && c <= '9'   ? c - '0'
             : c >= 'a' && c <= 'f' ? c - 'a' + 10
             : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                    : -1;
    };
    for (std::size_t i = 0; i < step.size(); ++i)
      if (step[i] == '%' && i + 2 < step.size() && hex(step[i + 1]) >= 0 && hex(step[i + 2]) >= 0)
        plain += static_cast<char>(hex(step[i + 1]) * 16 + hex(step[i + 2])), i += 2;
      else
        plain += step[i];
    for (std::size_t i = 0; i < plain.size(); ++i)
      if (plain[i] == '~' && i + 1 < plain.size() && (plain[i + 1] == '0' || plain[i + 1] == '1'))
        out += plain[++i] == '1' ? '/' : '~';
      else
        out += plain[i];
    return out;
  }

  // --- oneOf -----------------------------------------------------------------------------------------------------

  const Json* behind_refs(const Json* schema) const {
    for (int i = 0; i < kDeepestComparison && schema->is_object(); ++i) {
      const Json* ref = find(*schema, "$ref");
      if (ref == nullptr) return schema;
      const auto target = resolve(schema, *ref);
      if (!target) return schema;
      schema = *target;
    }
    return schema;
  }
  static std::uint8_t types_of(const Json& schema) {
    if (schema.is_boolean()) return schema == Json(true) ? std::uint8_t{All} : std::uint8_t{0};
    if (const Json* value = find(schema, "const")) return type_of(*value);
    if (const Json* values = find(schema, "enum"); values != nullptr && values->is_array()) {
      std::uint8_t out = 0;
      for (const Json& value : *values) out |= type_of(value);
      return out;
    }
    const Json* type = find(schema, "type");
    if (type == nullptr) return All;
    std::uint8_t out = 0;
    if (const std::string* name = as_string(*type)) return type_named(*name);
    for (const Json& name : *type)
      if (const std::string* text = as_string(name)) out |= type_named(*text);
    return out;
  }
  // Null: not known.
  static std::optional<std::vector<const Json*>> values_of(const Json& schema) {
    if (const Json* value = find(schema, "const")) return std::vector<const Json*>{value};
    const Json* values = find(schema, "enum");
    if (values == nullptr || !values->is_array()) return std::nullopt;
    std::vector<const Json*> out;
    for (const Json& value : *values) out.push_back(&value);
    return out;
  }
  // Whether it is certain that no value satisfies both.
  bool disjoint(const Json* a, const Json* b, int depth) {
    if (depth > kDeepestComparison || ++steps_ > kMostSteps) return false;
    a = behind_refs(a), b = behind_refs(b);
    if ((types_of(*a) & types_of(*b)) == 0) return true;
    const auto left = values_of(*a), right = values_of(*b);
    if (left && right) {
      if (left->size() * right->size() > kMostCompared) return false;
      return std::ranges::none_of(
          *left, [&](const Json* x) { return std::ranges::any_of(*right, [&](const Json* y) { return *x == *y; }); });
    }
    const Json *properties = find(*a, "properties"), *others = find(*b, "properties");
    if (types_of(*a) != Object || types_of(*b) != Object || properties == nullptr || others == nullptr) return false;
    if (!properties->is_object() || !others->is_object()) return false;
    for (const auto& [key, schema] : properties->items()) {
      if (++steps_ > kMostSteps) return false;
      const Json* other = member(*others, key);
      if (other != nullptr && is_required(*a, key) && is_required(*b, key) && disjoint(&schema, other, depth + 1))
        return true;
    }
    return false;
  }
  static bool is_required(const Json& schema, const std::string& name) {
    const Json* required = find(schema, "required");
    return required != nullptr && required->is_array() && std::ranges::find(*required, Json(name)) != required->end();
  }

  // --- One level -------------------------------------------------------------------------------------------------

  struct Facts {
    std::uint8_t types = All;
    std::uint32_t min_length = 0, max_length = kForever, min_items = 0, max_items = kForever;
    std::optional<Whole> min, max;  // of integers
    const Json* bounded = nullptr;  // a schema that bounds numbers
    std::string_view bound;         // by this keyword
    bool is_not_negative = false, is_bounded_otherwise = false;
    std::vector<std::pair<std::string_view, bool>> patterns;  // and whether it is the whole text
    std::vector<const Json*> pattern_schemas;
    std::optional<std::vector<const Json*>> values;
    const Json* valued = nullptr;
  };

  Result<ExprId> leaf(const Schemas& schemas) {
    Facts facts;
    for (const Json* schema : schemas) LOOM_TRY_VOID(read(schema, facts));
    if (facts.values) return values(schemas, facts);
    std::vector<ExprId> ways;
    if ((facts.types & Object) != 0) {
      LOOM_TRY(const ExprId way, object(schemas));
      ways.push_back(way);
    }
    if ((facts.types & Array) != 0) {
      LOOM_TRY(const ExprId way, array(schemas, facts));
      ways.push_back(way);
    }
    if ((facts.types & String) != 0) {
      LOOM_TRY(const ExprId way, string(facts));
      ways.push_back(way);
    }
    if ((facts.types & Fraction) != 0 && facts.is_bounded_otherwise)
      return bad(facts.bounded, facts.bound,
                 "bounds of numbers with a fraction are not supported (but \"minimum\": 0): "
                 "write \"type\": \"integer\"");
    if ((facts.types & Fraction) != 0)
      ways.push_back(json_.number(!facts.is_not_negative));
    else if ((facts.types & Integer) != 0)
      ways.push_back(json_.integer(facts.min, facts.max));
    if ((facts.types & Boolean) != 0) ways.push_back(rules_.choice({rules_.text("true"), rules_.text("false")}));
    if ((facts.types & Null) != 0) ways.push_back(rules_.text("null"));
    return rules_.choice(std::move(ways));
  }

  Result<void> read(const Json* schema, Facts& facts) {
    if (const Json* type = find(*schema, "type")) {
      const auto one = [&](const Json& name) -> Result<std::uint8_t> {
        const std::string* text = as_string(name);
        const std::uint8_t mask = text == nullptr ? std::uint8_t{0} : type_named(*text);
        if (mask == 0)
          return bad(schema, "type",
                     "expected null, boolean, integer, number, string, array or object, or a list of them");
        return mask;
      };
      std::uint8_t mask = 0;
      if (type->is_array()) {
        for (const Json& name : *type) {
          LOOM_TRY(const std::uint8_t more, one(name));
          mask |= more;
        }
      } else {
        LOOM_TRY(mask, one(*type));
      }
      facts.types &= mask;
    }
    LOOM_TRY_VOID(
        read_count(schema, "minLength", [&](std::uint32_t n) { facts.min_length = std::max(facts.min_length, n); }));
    LOOM_TRY_VOID(
        read_count(schema, "maxLength", [&](std::uint32_t n) { facts.max_length = std::min(facts.max_length, n); }));
    LOOM_TRY_VOID(
        read_count(schema, "minItems", [&](std::uint32_t n) { facts.min_items = std::max(facts.min_items, n); }));
    LOOM_TRY_VOID(
        read_count(schema, "maxItems", [&](std::uint32_t n) { facts.max_items = std::min(facts.max_items, n); }));
    LOOM_TRY_VOID(read_numbers(schema, facts));
    LOOM_TRY_VOID(read_texts(schema, facts));
    if (const Json* unique = find(*schema, "uniqueItems"); unique != nullptr && *unique != Json(false))
      return bad(schema, "uniqueItems", "this keyword is not supported (but false)");
    if (const Json* values = find(*schema, "enum")) {
      if (!values->is_array()) return bad(schema, "enum", "expected a list of values");
      std::vector<const Json*> list;
      for (const Json& value : *values) list.push_back(&value);
      if (facts.values && facts.values->size() * list.size() > kMostCompared) return too_large();
      keep(std::move(list), facts);
      facts.valued = schema;
    }
    if (const Json* value = find(*schema, "const")) {
      keep({value}, facts);
      facts.valued = schema;
    }
    return {};
  }

  void keep(std::vector<const Json*> list, Facts& facts) {
    if (facts.values)
      std::erase_if(list, [&](const Json* x) {
        return std::ranges::none_of(*facts.values, [&](const Json* y) { return *x == *y; });
      });
    facts.values = std::move(list);
  }

  template <class Use>
  Result<void> read_count(const Json* schema, const char* keyword, Use use) const {
    const Json* value = find(*schema, keyword);
    if (value == nullptr) return {};
    const std::optional<double> count = as_number(*value);
    if (!count || *count < 0 || *count != std::floor(*count))
      return bad(schema, keyword, "expected a whole number, 0 or more");
    if (*count >= kForever) return bad(schema, keyword, "{} is too large, expected less than {}", *count, kForever);
    use(static_cast<std::uint32_t>(*count));
    return {};
  }

  Result<void> read_numbers(const Json* schema, Facts& facts) const {
    for (const char* keyword : {"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"}) {
      const std::string_view name = keyword;
      const Json* value = find(*schema, keyword);
      if (value == nullptr) continue;
      const std::optional<double> bound = as_number(*value);
      if (!bound) return bad(schema, keyword, "expected a number");
      const bool is_exclusive = name.starts_with("exclusive"), is_least = name.ends_with("inimum");
      std::optional<Whole> whole = Whole::of(*value);
      if (whole && is_exclusive)
        whole = is_least ? whole->next() : whole->previous();
      else if (!whole)
        whole = Whole::of(is_least ? std::ceil(*bound) : std::floor(*bound));
      if (!whole)
        return bad(schema, keyword, "{} is too large, expected at most {}", dump_json(*value),
                   std::numeric_limits<std::uint64_t>::max() - (is_exclusive ? 1 : 0));
      if (is_least)
        facts.min = facts.min ? std::max(*facts.min, *whole) : *whole;
      else
        facts.max = facts.max ? std::min(*facts.max, *whole) : *whole;
      facts.bounded = schema, facts.bound = name;
      if (name == "minimum" && *bound == 0)
        facts.is_not_negative = true;
      else
        facts.is_bounded_otherwise = true;
    }
    return {};
  }

  Result<void> read_texts(const Json* schema, Facts& facts) const {
    for (const char* keyword : {"pattern", "format"}) {
      const Json* value = find(*schema, keyword);
      if (value == nullptr) continue;
      const std::string* text = as_string(*value);
      if (text == nullptr) return bad(schema, keyword, "expected a string");
      const bool is_format = keyword == std::string_view("format");
      std::string_view pattern = *text;
      if (is_format) pattern = format_pattern(*text);
      if (is_format && pattern.empty())
        return bad(schema, keyword, "format {} is not supported, expected date, time, date-time, uuid, ipv4 or email",
                   text::to_valid_utf8(*text).substr(0, 60));
      facts.patterns.emplace_back(pattern, is_format);
      facts.pattern_schemas.push_back(schema);
    }
    return {};
  }

  Result<std::vector<PatternMachine>> machines(const Facts& facts) const {
    std::vector<PatternMachine> out;
    for (std::size_t i = 0; i < facts.patterns.size(); ++i) {
      auto machine = compile_pattern(facts.patterns[i].first, facts.patterns[i].second);
      if (!machine) {
        Steps steps;
        find_place(root_, facts.pattern_schemas[i], steps);
        steps.emplace_back(facts.patterns[i].second ? "format" : "pattern");
        return under(std::move(steps), std::move(machine).error());
      }
      out.push_back(std::move(*machine));
    }
    return out;
  }

  Result<ExprId> string(const Facts& facts) {
    if (facts.min_length > facts.max_length) return rules_.never();
    if (facts.patterns.empty()) return json_.string_of_length(facts.min_length, facts.max_length);
    LOOM_TRY(std::vector<PatternMachine> list, machines(facts));
    const std::uint32_t longest = facts.max_length == kForever ? facts.min_length : facts.max_length;
    if (longest >= PatternMachine::kMostStates) return too_large();
    if (facts.min_length > 0 || facts.max_length != kForever)
      list.push_back(length_machine(facts.min_length, facts.max_length));
    PatternMachine machine = std::move(list[0]);
    for (std::size_t i = 1; i < list.size(); ++i) {
      LOOM_TRY(machine, intersection(machine, list[i]));
    }
    return json_.string_of(machine);
  }

  // enum and const, with the other keywords as a filter.
  Result<ExprId> values(const Schemas& schemas, const Facts& facts) {
    LOOM_TRY(const std::vector<PatternMachine> patterns, machines(facts));
    std::vector<ExprId> ways;
    std::vector<std::string> texts;
    for (const Json* value : *facts.values) {
      const std::uint8_t type = type_of(*value);
      if ((facts.types & type) == 0) continue;
      if (const Json* large = inexact_in(*value))
        return bad(facts.valued, "", "the whole number {} has lost digits, expected one from {} to {}",
                   dump_json(*large), std::numeric_limits<std::int64_t>::min(),
                   std::numeric_limits<std::uint64_t>::max());
      if ((type == Array || type == Object) && has_parts_keywords(schemas))
        return bad(facts.valued, "", "values with parts beside keywords about parts are not supported");
      if (const std::string* text = as_string(*value)) {
        std::uint32_t length = 0;
        text::for_each_code_point(*text, [&](std::uint32_t) { ++length; });
        if (length < facts.min_length || length > facts.max_length) continue;
        if (!std::ranges::all_of(patterns, [&](const PatternMachine& m) { return takes(m, *text); })) continue;
      }
      if (value->is_number() && facts.bounded != nullptr) {
        if (type == Fraction) return bad(facts.valued, "", "numbers with a fraction beside bounds are not supported");
        const std::optional<Whole> number = Whole::of(*value);
        if (!number) return bad(facts.valued, "", "the number {} is too large beside bounds", dump_json(*value));
        if ((facts.min && *number < *facts.min) || (facts.max && *facts.max < *number)) continue;
      }
      if (value->is_structured())
        ways.push_back(json_.literal(*value));
      else
        texts.push_back(JsonRules::literal_text(*value));
    }
    if (!texts.empty()) ways.push_back(any_text(rules_, std::move(texts)));
    return rules_.choice(std::move(ways));
  }
  // A whole number in a value that 64 bits do not hold, so that JSON's reader kept a double of it; null: none.
  static const Json* inexact_in(const Json& value) {
    if (value.is_structured()) {
      for (const Json& part : value)
        if (const Json* found = inexact_in(part)) return found;
      return nullptr;
    }
    constexpr double kEnd = 9223372036854775808.0;  // 2^63
    const std::optional<double> number = value.is_number_float() ? as_number(value) : std::nullopt;
    return number && std::abs(*number) >= kEnd ? &value : nullptr;
  }
  static bool has_parts_keywords(const Schemas& schemas) {
    return std::ranges::any_of(schemas, [](const Json* schema) {
      for (const char* keyword : {"properties", "required", "additionalProperties", "items", "prefixItems",
                                  "additionalItems", "minItems", "maxItems", "minProperties", "maxProperties"})
        if (find(*schema, keyword) != nullptr) return true;
      return false;
    });
  }

  // --- Arrays ----------------------------------------------------------------------------------------------------

  // The schemas of items before those that all others share, and of these.
  struct Items {
    const Json *first = nullptr, *rest = nullptr;
  };
  Result<Items> items_of(const Json* schema) const {
    Items out{find(*schema, "prefixItems"), find(*schema, "items")};
    const Json* additional = find(*schema, "additionalItems");
    if (out.rest != nullptr && out.rest->is_array() && out.first == nullptr)
      out = {out.rest, additional};
    else if (additional != nullptr && out.first == nullptr)
      additional = nullptr;  // as draft 7 says
    else if (additional != nullptr)
      return lacks(schema, "additionalItems");
    if (out.first != nullptr && (!out.first->is_array() || out.first->empty()))
      return bad(schema, "prefixItems", "expected a list of schemas");
    return out;
  }

  Result<ExprId> array(const Schemas& schemas, const Facts& facts) {
    std::size_t prefix = 0;
    std::vector<Items> lists;
    for (const Json* schema : schemas) {
      LOOM_TRY(const Items items, items_of(schema));
      if (items.first != nullptr) prefix = std::max(prefix, items.first->size());
      lists.push_back(items);
    }
    const auto item = [&](std::size_t index) {
      Schemas out;
      for (const Items& list : lists) {
        if (list.first != nullptr && index < list.first->size())
          out.push_back(&(*list.first)[index]);
        else if (list.rest != nullptr)
          out.push_back(list.rest);
      }
      return expr_of(out);
    };
    if (facts.min_items > facts.max_items) return rules_.never();
    Machine machine;
    for (std::uint32_t i = 0; i <= prefix; ++i) {
      Machine::State state{.edges = {}, .accepts = i >= facts.min_items && i <= facts.max_items};
      if (i < facts.max_items && i < prefix) {
        LOOM_TRY(const ExprId expr, item(i));
        state.edges.push_back({i == 0 ? expr : rules_.sequence({json_.comma(), expr}), i + 1});
      }
      machine.states.push_back(std::move(state));
    }
    const auto first = static_cast<std::uint32_t>(prefix);
    if (first < facts.max_items) {
      LOOM_TRY(const ExprId expr, item(prefix));
      const ExprId next = rules_.sequence({json_.comma(), expr});
      const std::uint32_t least = facts.min_items > first ? facts.min_items - first - 1 : 0;
      const std::uint32_t most = facts.max_items == kForever ? kForever : facts.max_items - first - 1;
      machine.states[first].edges.push_back(
          {rules_.sequence({first == 0 ? expr : next, rules_.repeat(next, least, most)}), first + 1});
      machine.states.push_back({.edges = {}, .accepts = true});
    }
    return json_.in_brackets(rules_.machine(std::move(machine)));
  }

  // --- Objects ---------------------------------------------------------------------------------------------------

  Result<void> check_object(const Json* schema) const {
    const Json *properties = find(*schema, "properties"), *required = find(*schema, "required");
    if (properties != nullptr && !properties->is_object())
      return bad(schema, "properties", "expected an object of schemas");
    if (required == nullptr) return {};
    if (!required->is_array()) return bad(schema, "required", "expected a list of names");
    for (const Json& name : *required)
      if (!name.is_string()) return bad(schema, "required", "expected a list of names");
    return {};
  }

  Result<ExprId> object(const Schemas& schemas) {
    std::vector<std::string> names;  // declared ones, then others that are required
    std::set<std::string> known, required;
    std::uint32_t least = 0;
    const Json *least_of = nullptr, *most_of = nullptr;
    std::uint32_t most = kForever;
    for (const Json* schema : schemas) {
      LOOM_TRY_VOID(check_object(schema));
      if (const Json* properties = find(*schema, "properties"))
        for (const auto& [name, unused] : properties->items())
          if (known.insert(name).second) names.push_back(name);
      LOOM_TRY_VOID(
          read_count(schema, "minProperties", [&](std::uint32_t n) { least = std::max(least, n), least_of = schema; }));
      LOOM_TRY_VOID(
          read_count(schema, "maxProperties", [&](std::uint32_t n) { most = std::min(most, n), most_of = schema; }));
    }
    for (const Json* schema : schemas)
      if (const Json* list = find(*schema, "required"))
        for (const Json& name : *list) {
          required.insert(*as_string(name));
          if (known.insert(*as_string(name)).second) names.push_back(*as_string(name));
        }
    if (least > required.size())
      return bad(least_of, "minProperties", "this keyword is not supported above the number of required properties, {}",
                 required.size());
    Schemas others;
    for (const Json* schema : schemas)
      if (const Json* additional = find(*schema, "additionalProperties")) others.push_back(additional);
    LOOM_TRY(const ExprId extra_value, expr_of(others));
    if (most < names.size() || (most != kForever && extra_value != rules_.never()))
      return bad(most_of, "maxProperties", "this keyword is not supported where more properties are known or allowed");
    const ExprId extra = rules_.sequence({json_.string_other_than(known), json_.colon(), extra_value});

    const auto count = static_cast<std::uint32_t>(names.size());
    const auto state_of = [count](std::uint32_t index, bool is_first) { return is_first ? index : count + 1 + index; };
    const std::uint32_t more = 2 * count + 2;
    Machine machine;
    machine.states.resize(more + 1);
    const auto after = [&](bool is_first, ExprId member) {
      return is_first ? member : rules_.sequence({json_.comma(), member});
    };
    for (std::uint32_t i = 0; i < count; ++i) {
      Schemas parts;
      for (const Json* schema : schemas) {
        const Json *properties = find(*schema, "properties"), *additional = find(*schema, "additionalProperties");
        const Json* property = properties == nullptr ? nullptr : member(*properties, names[i]);
        if (property != nullptr)
          parts.push_back(property);
        else if (additional != nullptr)
          parts.push_back(additional);
      }
      LOOM_TRY(const ExprId value, expr_of(parts));
      const ExprId member = rules_.sequence({rules_.text(dump_json(Json(names[i]))), json_.colon(), value});
      for (const bool is_first : {true, false}) {
        Machine::State& state = machine.states[state_of(i, is_first)];
        if (member != rules_.never()) state.edges.push_back({after(is_first, member), state_of(i + 1, false)});
        if (!required.contains(names[i])) state.edges.push_back({rules_.empty(), state_of(i + 1, is_first)});
      }
    }
    for (const bool is_first : {true, false}) {
      Machine::State& state = machine.states[state_of(count, is_first)];
      state.accepts = true;
      if (extra != rules_.never()) state.edges.push_back({after(is_first, extra), more});
    }
    machine.states[more].accepts = true;
    if (extra != rules_.never()) machine.states[more].edges.push_back({after(false, extra), more});
    return json_.in_braces(rules_.machine(std::move(machine)));
  }

  const Json& root_;
  Rules& rules_;
  JsonRules json_;
  std::map<const Json*, std::size_t> order_;  // in which schemas were met: properties keep the order of the document
  mutable std::map<const Json*, std::unordered_map<std::string, const Json*>> indices_;  // of large objects
  std::map<const Json*, const Json*> merged_;  // of lists of schemas: merged_constants()
  std::deque<Json> made_;                      // by it
  std::map<Schemas, RuleId> leaf_rules_;
  std::deque<Job> jobs_;
  std::size_t steps_ = 0;
};

}  // namespace

Result<RuleId> compile_schema(const Json& schema, Rules& rules) { return SchemaCompiler(schema, rules).run(schema); }
Result<RuleId> compile_schema_part(const Json& root, const Json& part, Rules& rules) {
  return SchemaCompiler(root, rules).run(part);
}

}  // namespace loom::grammar
