#include "core/config_reader.h"

#include <cmath>

#include "core/json.h"
#include "core/nearest.h"

namespace loom {
namespace {

std::string range_text(SizeRange range) {
  if (range.max >= kAnySize.max)
    return range.min == 0 ? "an integer that is not negative" : fmt::format("an integer of at least {}", range.min);
  return fmt::format("an integer from {} to {}", range.min, range.max);
}

std::string range_text(NumberRange range) {
  if (std::isfinite(range.max)) return fmt::format("a number from {} to {}", range.min, range.max);
  return std::isfinite(range.min) ? fmt::format("a number of at least {}", range.min) : "a finite number";
}

std::optional<std::uint64_t> size_in(const Json& value, SizeRange range) {
  const auto n = as_int(value);
  if (!n || *n < 0 || static_cast<std::uint64_t>(*n) < range.min || static_cast<std::uint64_t>(*n) > range.max)
    return std::nullopt;
  return static_cast<std::uint64_t>(*n);
}

}  // namespace

void ConfigFindings::add(Error error) {
  if (errors.size() < kMost) errors.push_back(std::move(error));
}

void ConfigFindings::add(Code code, Steps steps, std::string message) {
  add(Error{code, std::move(message), std::move(steps)});
}

void ConfigFindings::warn(Steps steps, std::string message) {
  if (warnings.size() < kMost)
    warnings.push_back(Error{Code::InvalidConfig, std::move(message), std::move(steps)}.text());
}

void ConfigFindings::object_to(Code code, Steps steps, std::string message) {
  strict ? add(code, std::move(steps), std::move(message)) : warn(std::move(steps), std::move(message));
}

Result<void> ConfigFindings::result() const {
  if (errors.empty()) return {};
  Error all = errors.front();
  for (std::size_t i = 1; i < errors.size(); ++i) all.message += "; " + errors[i].text();
  return tl::make_unexpected(std::move(all));
}

std::string shown(const Json& value) {
  std::string text = dump_json(value);
  if (text.size() > 40) text = text.substr(0, 40) + "...";
  return printable(text);
}

std::string expected(std::string_view what, const Json& given) {
  return fmt::format("expected {}, got {}", what, shown(given));
}

ConfigReader::ConfigReader(ConfigFindings& findings, const Json* object, Steps place)
    : findings_(findings), object_(object), place_(std::move(place)) {
  if (object_ == nullptr || object_->is_object()) return;
  findings_.add(Code::InvalidConfig, place_, expected("an object", *object_));
  object_ = nullptr;
}

Steps ConfigReader::steps_to(std::string_view key) const {
  Steps steps = place_;
  steps.push_back(printable(key));
  return steps;
}

const Json* ConfigReader::peek(Key key) const {
  for (const std::string_view name : split_names(key.names))
    if (const Json* here = object_ == nullptr ? nullptr : loom::find(*object_, name)) return here;
  return nullptr;
}

const Json* ConfigReader::take(Key key) {
  const Json* found = nullptr;
  for (const std::string_view name : split_names(key.names)) {
    known_.push_back(name);
    const Json* here = object_ == nullptr ? nullptr : loom::find(*object_, name);
    if (here == nullptr) continue;
    used_.emplace(name);
    if (found != nullptr)
      complain(Code::InvalidConfig, name, fmt::format("given beside \"{}\", which means the same", used_as_));
    if (found == nullptr) found = here, used_as_ = name;
  }
  return found;
}

void ConfigReader::complain(Code code, Key key, std::string message) {
  std::string_view name = key.first();
  for (const std::string_view alias : split_names(key.names))
    if (alias == used_as_ && used_.contains(alias)) name = alias;
  findings_.add(code, steps_to(name), std::move(message));
}

void ConfigReader::finish() {
  if (object_ == nullptr) return;
  for (const auto& [key, value] : object_->items())
    if (!used_.contains(key))
      findings_.object_to(Code::UnknownKey, steps_to(key),
                          fmt::format("unknown key; nearest: {}", nearest_names(key, known_)));
}

void ConfigReader::operator()(Key key, bool& value) {
  const Json* given = take(key);
  if (given == nullptr) return;
  if (const auto b = as_bool(*given))
    value = *b;
  else
    complain(key, "true or false", *given);
}

void ConfigReader::operator()(Key key, std::string& value) {
  const Json* given = take(key);
  if (given == nullptr) return;
  if (const std::string* text = as_string(*given))
    value = *text;
  else
    complain(key, "a string", *given);
}

void ConfigReader::operator()(Key key, std::optional<std::int64_t>& value) {
  const Json* given = take(key);
  if (given == nullptr || given->is_null()) return;
  value = as_int(*given);
  if (!value) complain(key, "an integer", *given);
}

void ConfigReader::whole(Key key, std::uint64_t& value, SizeRange range) {
  const Json* given = take(key);
  if (given == nullptr) {
    // by its last alias, the name that guides and printed specs use
    if (value < range.min) complain(Code::InvalidConfig, split_names(key.names).back(), "is missing");
    return;
  }
  if (const auto n = size_in(*given, range))
    value = *n;
  else
    complain(key, range_text(range), *given);
}

void ConfigReader::number(Key key, double& value, NumberRange range) {
  const Json* given = take(key);
  if (given == nullptr) return;
  const auto n = as_number(*given);
  if (n && *n >= range.min && *n <= range.max)
    value = *n;
  else
    complain(key, range_text(range), *given);
}

void ConfigReader::number(Key key, std::optional<double>& value, NumberRange range) {
  const Json* given = peek(key);
  if (given == nullptr || given->is_null()) return void(take(key));
  number(key, value.emplace(), range);
}

template <class T, class Read>
void ConfigReader::take_list(Key key, std::vector<T>& to, std::string_view list, std::string_view item, Read read) {
  const Json* given = take(key);
  if (given == nullptr) return;
  if (!given->is_array()) return complain(key, list, *given);
  to.clear();
  for (const Json& element : *given) {
    const auto value = read(element);
    if (value) {
      to.push_back(T(*value));
      continue;
    }
    Steps place = steps_to(used_as_);
    place.push_back(std::to_string(to.size()));
    return findings_.add(Code::InvalidConfig, std::move(place), expected(item, element));
  }
}

void ConfigReader::operator()(Key key, std::vector<double>& value) {
  take_list(key, value, "a list of numbers", "a finite number", as_number);
}
void ConfigReader::operator()(Key key, std::vector<std::string>& value) {
  take_list(key, value, "a list of strings", "a string", as_string);
}
void ConfigReader::operator()(Key key, std::vector<bool>& value) {
  take_list(key, value, "a list of true and false", "true or false", as_bool);
}
void ConfigReader::wholes(Key key, std::vector<std::size_t>& value, SizeRange items) {
  take_list(key, value, "a list of integers", range_text(items),
            [&](const Json& item) { return size_in(item, items); });
}
void ConfigReader::operator()(Key key, std::vector<std::int64_t>& value) {
  take_list(key, value, "a list of integers", "an integer of 32 bits", [](const Json& item) {
    const auto n = as_int(item);
    return n && *n >= -0x7fffffff && *n <= 0x7fffffff ? n : std::nullopt;
  });
}

void ConfigReader::json(Key key, Json& value) {
  const Json* given = take(key);
  if (given == nullptr) return;
  if (given->is_null()) return complain(key, "a value", *given);
  value = *given;
}

void ConfigReader::object(Key key, const Fields& fields, std::string_view name) {
  const Json* given = take(key);
  if (given == nullptr) return;
  const bool is_name = !name.empty() && given->is_string();
  const Json named = is_name ? Json{{std::string(name), *given}} : Json();
  if (!is_name && !given->is_object()) return complain(key, name.empty() ? "an object" : "a name or an object", *given);
  ConfigReader inner(findings_, is_name ? &named : given, steps_to(used_as_));
  fields(inner);
  inner.finish();
}

void ConfigReader::list(Key key, std::size_t, const std::function<void(std::size_t)>& resize,
                        const std::function<void(std::size_t, ConfigVisitor&)>& item) {
  const Json* given = take(key);
  if (given == nullptr) return;
  if (!given->is_array() || given->size() > kMaxObjects)
    return complain(key, fmt::format("a list of at most {} objects", kMaxObjects), *given);
  resize(given->size());
  for (std::size_t i = 0; i < given->size(); ++i) {
    Steps place = steps_to(used_as_);
    place.push_back(std::to_string(i));
    ConfigReader inner(findings_, &(*given)[i], std::move(place));
    item(i, inner);
    inner.finish();
  }
}

const std::string* ConfigReader::name_of(Key key) {
  const Json* given = take(key);
  if (given == nullptr) return nullptr;
  if (const std::string* text = as_string(*given)) return text;
  if (const auto n = as_int(*given)) {
    number_ = std::to_string(*n);
    return &number_;
  }
  complain(key, "a name", *given);
  return nullptr;
}

void ConfigReader::choose(Key key, std::size_t& index, std::span<const std::string_view> names, Code unknown) {
  const std::string* text = name_of(key);
  if (text == nullptr) return;
  if (const auto found = find_name("", *text, names))
    index = *found;
  else
    complain(unknown, key, found.error().message);
}

Result<void> read_config(const Json& object, const ConfigVisitor::Fields& fields, Steps place) {
  ConfigFindings findings;
  ConfigReader reader(findings, &object, std::move(place));
  fields(reader);
  reader.finish();
  return findings.result();
}

}  // namespace loom
