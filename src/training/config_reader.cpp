#include "training/config_reader.h"

#include <algorithm>

#include "core/nearest.h"

namespace loom {
namespace {

thread_local std::vector<ConfigReader::Key>* asked = nullptr;

Json json_of(const auto& value) { return value ? Json(*value) : Json(); }

}  // namespace

ConfigReader::ConfigReader(const Json* object, std::string place) : object_(object), place_(std::move(place)) {
  if (object_ == nullptr || object_->is_object()) return;
  error_ = Error{Code::InvalidConfig, fmt::format("{}: an object expected", place_.empty() ? "config" : place_)};
  object_ = nullptr;
}

std::vector<ConfigReader::Key> ConfigReader::keys_asked_for(const std::function<void()>& reading) {
  std::vector<Key> keys;
  asked = &keys;
  reading();
  asked = nullptr;
  return keys;
}

const Json* ConfigReader::member(std::string_view key, const Json& standard) {
  if (asked != nullptr) asked->push_back({place_of(key), standard});
  known_.push_back(key);
  return object_ == nullptr ? nullptr : find(*object_, key);
}

void ConfigReader::fail(std::string_view key, std::string_view expected) {
  if (!error_) error_ = Error{Code::InvalidConfig, fmt::format("{}: {} expected", place_of(key), expected)};
}

void ConfigReader::operator()(std::string_view key, bool& value) {
  const Json* found = member(key, value);
  if (found == nullptr) return;
  if (const auto b = as_bool(*found))
    value = *b;
  else
    fail(key, "true or false");
}

void ConfigReader::operator()(std::string_view key, double& value) {
  const Json* found = member(key, value);
  if (found == nullptr) return;
  if (const auto n = as_number(*found))
    value = *n;
  else
    fail(key, "a number");
}

void ConfigReader::operator()(std::string_view key, float& value) {
  double wide = static_cast<double>(value);
  (*this)(key, wide);
  value = static_cast<float>(wide);
}

void ConfigReader::operator()(std::string_view key, std::string& value) {
  const Json* found = member(key, value);
  if (found == nullptr) return;
  if (const std::string* s = as_string(*found))
    value = *s;
  else
    fail(key, "a text");
}

void ConfigReader::operator()(std::string_view key, std::optional<double>& value) {
  const Json* found = member(key, json_of(value));
  if (found == nullptr || found->is_null()) return;
  value = as_number(*found);
  if (!value) fail(key, "a number");
}

void ConfigReader::operator()(std::string_view key, std::optional<std::int64_t>& value) {
  const Json* found = member(key, json_of(value));
  if (found == nullptr || found->is_null()) return;
  value = as_int(*found);
  if (!value) fail(key, "a whole number");
}

void ConfigReader::operator()(std::string_view key, std::vector<double>& value) {
  const Json* found = member(key, value);
  if (found == nullptr) return;
  if (!found->is_array()) return fail(key, "a list of numbers");
  value.clear();
  for (const Json& item : *found) {
    const auto n = as_number(item);
    if (!n) return fail(key, "a list of numbers");
    value.push_back(*n);
  }
}

void ConfigReader::operator()(std::string_view key, std::vector<std::string>& value) {
  const Json* found = member(key, value);
  if (found == nullptr) return;
  if (!found->is_array()) return fail(key, "a list of texts");
  value.clear();
  for (const Json& item : *found) {
    const std::string* s = as_string(item);
    if (s == nullptr) return fail(key, "a list of texts");
    value.push_back(*s);
  }
}

void ConfigReader::whole(std::string_view key, std::uint64_t& value, std::uint64_t min, std::uint64_t max) {
  const Json* found = member(key, value);
  if (found == nullptr) return;
  const auto n = as_int(*found);
  if (!n || *n < 0 || static_cast<std::uint64_t>(*n) < min || static_cast<std::uint64_t>(*n) > max)
    return fail(key, fmt::format("a whole number from {} to {}", min, max));
  value = static_cast<std::uint64_t>(*n);
}

void ConfigReader::wholes(std::string_view key, std::vector<std::uint64_t>& value) {
  const Json* found = member(key, value);
  if (found == nullptr) return;
  if (!found->is_array()) return fail(key, "a list of whole numbers");
  value.clear();
  for (const Json& item : *found) {
    const auto n = as_int(item);
    if (!n || *n < 0) return fail(key, "a list of whole numbers");
    value.push_back(static_cast<std::uint64_t>(*n));
  }
}

Result<void> ConfigReader::finish() {
  if (error_) return tl::make_unexpected(*error_);
  if (object_ == nullptr) return {};
  for (const auto& [key, value] : object_->items())
    if (std::ranges::find(known_, std::string_view(key)) == known_.end())
      return ::loom::fail(Code::UnknownKey, "{}: the key is not known; nearest: {}", place_of(printable(key)), nearest_names(key, known_));
  return {};
}

}  // namespace loom
