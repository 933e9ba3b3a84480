#include "layers/foreign/foreign_kind.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "core/config_reader.h"
#include "core/json.h"
#include "core/nearest.h"
#include "core/mutex.h"
#include "layers/all.h"
#include "layers/foreign/foreign_layer.h"

namespace loom {
namespace {

constexpr std::size_t kMostSettings = ConfigVisitor::kMaxObjects, kMostKinds = 4096, kLongestKindName = 60;

bool is_word(std::string_view text) {
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  return !text.empty() && text.size() <= kLongestKindName && is_letter(text.front()) &&
         std::ranges::all_of(text, [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '_'; });
}

// A setting as the text has it: what min, max and default mean depends on the type.
struct GivenSetting {
  ForeignSetting setting;
  std::optional<double> min, max;
  Json standard;

  void fields(ConfigVisitor& visit) {
    visit({"key", "The key in specs"}, setting.key);
    visit.choice({"type", "Type of its values"}, setting.type,
                 {"integer", "number", "boolean", "choice", "activation"});
    visit({"help", "One line for manuals"}, setting.help);
    visit({"min", "The least integer or number"}, min);
    visit({"max", "The greatest integer or number"}, max);
    visit({"choices", "The names of a choice"}, setting.choices);
    visit.json({"default", "The value where none is given"}, standard);
  }
};

Result<void> settle_range(GivenSetting& given) {
  ForeignSetting& s = given.setting;
  const bool has_range = s.type == ForeignSetting::Type::Integer || s.type == ForeignSetting::Type::Number;
  if (!has_range && (given.min || given.max))
    return fail(Code::InvalidConfig, "{}: min and max are for integers and numbers", s.key);
  if (s.type == ForeignSetting::Type::Number) {
    if (given.min) s.numbers.min = *given.min;
    if (given.max) s.numbers.max = *given.max;
  }
  const bool is_integer = s.type == ForeignSetting::Type::Integer;
  for (const auto& [bound, to] : {std::pair(given.min, &s.sizes.min), std::pair(given.max, &s.sizes.max)}) {
    if (!bound || !is_integer) continue;
    if (!(*bound >= 0 && *bound <= 0x1p53) || *bound != std::floor(*bound))
      return fail(Code::InvalidConfig, "{}: a bound of {}, expected an integer from 0 on", s.key, *bound);
    *to = static_cast<std::uint64_t>(*bound);
  }
  if (s.sizes.min > s.sizes.max || s.numbers.min > s.numbers.max)
    return fail(Code::InvalidArgument, "{}: min {} is above max {}", s.key,
                is_integer ? static_cast<double>(s.sizes.min) : s.numbers.min,
                is_integer ? static_cast<double>(s.sizes.max) : s.numbers.max);
  return {};
}

Result<void> settle_default(GivenSetting& given) {
  ForeignSetting& s = given.setting;
  if (s.type == ForeignSetting::Type::Choice && s.choices.empty())
    return fail(Code::InvalidConfig, "{}: a choice of nothing", s.key);
  if (given.standard.is_null()) return {};
  const auto refuse = [&](std::string_view what) {
    return fail(Code::InvalidConfig, "{}: default: {}", s.key, expected(what, given.standard));
  };
  const std::string* text = as_string(given.standard);
  switch (s.type) {
    case ForeignSetting::Type::Integer: {
      const auto n = as_int(given.standard);
      if (!n || *n < 0) return refuse("an integer from 0 on");
      s.standard.whole = static_cast<std::size_t>(*n);
      return {};
    }
    case ForeignSetting::Type::Number: {
      const auto n = as_number(given.standard);
      if (!n) return refuse("a number");
      s.standard.number = *n;
      return {};
    }
    case ForeignSetting::Type::Boolean: {
      const auto flag = as_bool(given.standard);
      if (!flag) return refuse("true or false");
      s.standard.flag = *flag;
      return {};
    }
    case ForeignSetting::Type::Choice: {
      const auto found = text == nullptr ? s.choices.end() : std::ranges::find(s.choices, *text);
      if (found == s.choices.end()) return refuse("one of the choices");
      s.standard.whole = static_cast<std::size_t>(found - s.choices.begin());
      return {};
    }
    case ForeignSetting::Type::Activation: {
      const auto found = text == nullptr ? std::nullopt : activation_from_name(*text);
      if (!found) return refuse("the name of an activation");
      s.standard.activation = *found;
      return {};
    }
  }
  return {};
}

Result<void> check(const ForeignDescription& d) {
  if (!is_word(d.name))
    return fail(Code::InvalidArgument, "a kind named \"{}\": expected small letters, digits and '_', a letter first",
                printable(d.name));
  if (d.settings.size() > kMostSettings) return fail(Code::LimitExceeded, "more than {} settings", kMostSettings);
  for (std::size_t i = 0; i < d.settings.size(); ++i) {
    const std::string& key = d.settings[i].key;
    if (!is_word(key))
      return fail(Code::InvalidArgument, "a key \"{}\": expected small letters, digits and '_', a letter first",
                  printable(key));
    for (std::size_t j = 0; j < i; ++j)
      if (d.settings[j].key == key) return fail(Code::InvalidArgument, "the key \"{}\" is given twice", key);
    for (const std::string& choice : d.settings[i].choices)
      if (!is_word(choice))
        return fail(Code::InvalidArgument, "{}: a choice \"{}\": expected small letters, digits and '_'", key,
                    printable(choice));
  }
  const auto wide = std::ranges::find(d.settings, d.width_key, &ForeignSetting::key);
  if (!d.width_key.empty() && (wide == d.settings.end() || wide->type != ForeignSetting::Type::Integer))
    return fail(Code::InvalidArgument, "width_key: \"{}\" is no setting of integers", printable(d.width_key));
  return {};
}

LayerPtr make_foreign(const LayerKind& kind) {
  return std::make_unique<ForeignLayer>(static_cast<const ForeignKind&>(kind));
}

// The list is never destroyed: layers may end while the process does.
struct Registry {
  Mutex lock;
  std::vector<std::unique_ptr<ForeignKind>> kinds;  // those that were removed included: somebody may hold the row
};
Registry& registry() {
  static Registry* const r = new Registry;
  return *r;
}

// The caller holds the lock. Null: there is none.
ForeignKind* find_registered(std::string_view name) {
  const std::string wanted = folded_name(name);
  for (const auto& kind : registry().kinds)
    if (kind->registered && folded_name(kind->name) == wanted) return kind.get();
  return nullptr;
}

}  // namespace

Result<ForeignDescription> ForeignDescription::read(const Json& description) {
  ForeignDescription out;
  std::vector<GivenSetting> given;
  LOOM_TRY_VOID(read_config(description, [&](ConfigVisitor& visit) {
    visit({"name", "Name of the kind in specs"}, out.name);
    visit({"help", "One line for manuals: the function that it computes"}, out.help);
    visit({"shapes", "input -> output, for manuals"}, out.shapes);
    visit({"width_key", "The setting that declares the features of the input"}, out.width_key);
    visit({"sample_axes", "The fewest axes of one sample"}, out.sample_axes, {0, Shape::kMaxRank - 1});
    visit.objects({"settings", "Its keys in specs"}, given);
  }));
  for (std::size_t i = 0; i < given.size(); ++i) {
    auto settled = settle_range(given[i]);
    if (settled) settled = settle_default(given[i]);
    if (!settled) return under({"settings", std::to_string(i)}, std::move(settled).error());
    out.settings.push_back(std::move(given[i].setting));
  }
  LOOM_TRY_VOID(check(out));
  return out;
}

ForeignKind::ForeignKind(ForeignDescription given, ForeignCallbacks calls)
    : LayerKind{.id = -1, .name = {}, .make = make_foreign},
      description(std::move(given)),
      callbacks(std::move(calls)) {
  name = description.name, help = description.help, shapes = description.shapes, width_key = description.width_key;
  for (const ForeignSetting& s : description.settings) choices.emplace_back(s.choices.begin(), s.choices.end());
}

Result<void> add_foreign_kind(ForeignDescription description, ForeignCallbacks callbacks) {
  LOOM_TRY_VOID(check(description));
  if (!callbacks.forward) return fail(Code::InvalidArgument, "kind {}: no forward callback", description.name);
  auto made = std::make_unique<ForeignKind>(std::move(description), std::move(callbacks));
  Registry& r = registry();
  const Mutex::Guard guard(r.lock);
  if (is_builtin_kind(made->name) || find_registered(made->name) != nullptr)
    return fail(Code::InvalidArgument, "a kind named {} exists already", made->name);
  if (std::ranges::count_if(r.kinds, [](const auto& kind) { return kind->registered.load(); }) == kMostKinds)
    return fail(Code::LimitExceeded, "{} kinds are registered", kMostKinds);
  r.kinds.push_back(std::move(made));
  return {};
}

Result<void> remove_foreign_kind(std::string_view name) {
  const Mutex::Guard guard(registry().lock);
  const ForeignKind* const kind = find_registered(name);
  if (kind == nullptr) return fail(Code::UnknownName, "a kind \"{}\" is not registered", printable(name));
  if (const std::size_t n = kind->layers; n != 0)
    return fail(Code::InvalidState, "kind {}: {} layers of it live", kind->name, n);
  kind->registered = false;
  return {};
}

bool count_layer(const ForeignKind& kind) {
  const Mutex::Guard guard(registry().lock);
  if (!kind.registered) return false;
  ++kind.layers;
  return true;
}

const LayerKind* find_foreign_kind(std::string_view name) {
  const Mutex::Guard guard(registry().lock);
  return find_registered(name);
}

std::vector<const LayerKind*> foreign_kinds() {
  const Mutex::Guard guard(registry().lock);
  std::vector<const LayerKind*> out;
  for (const auto& kind : registry().kinds)
    if (kind->registered) out.push_back(kind.get());
  return out;
}

}  // namespace loom
