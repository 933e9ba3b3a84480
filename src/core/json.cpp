#include "core/json.h"

#include <cmath>
#include <limits>
#include <unordered_set>
#include <vector>

namespace loom {
namespace {

// Builds the value while it counts depth and refuses duplicate keys, which nlohmann's own handler accepts.
class Builder final : public nlohmann::json_sax<Json> {
 public:
  explicit Builder(const JsonLimits& limits) : limits_(limits) {}

  bool null() override { return put(Json(nullptr)); }
  bool boolean(bool v) override { return put(Json(v)); }
  bool number_integer(number_integer_t v) override { return put(Json(v)); }
  bool number_unsigned(number_unsigned_t v) override { return put(Json(v)); }
  bool number_float(number_float_t v, const string_t& text) override {
    if (!std::isfinite(v)) return stop(Code::CorruptData, fmt::format("number {} is out of range", text.substr(0, 40)));
    return put(Json(v));
  }
  bool string(string_t& v) override { return put(Json(std::move(v))); }
  bool binary(binary_t&) override { return stop(Code::CorruptData, "binary value"); }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    if (!keys_.back().insert(name).second) return stop(Code::CorruptData, fmt::format("key \"{}\" appears twice", name.substr(0, 80)));
    key_ = std::move(name);
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    if (!error) error = Error{Code::CorruptData, fmt::format("not valid JSON at byte {}", position == 0 ? 0 : position - 1)};
    return false;
  }

  Json root;
  std::optional<Error> error;

 private:
  bool stop(Code code, std::string why) {
    if (!error) error = Error{code, std::move(why)};
    return false;
  }
  Json* place(Json&& v) {
    if (stack_.empty()) {
      root = std::move(v);
      return &root;
    }
    Json& top = *stack_.back();
    if (top.is_array()) {
      top.push_back(std::move(v));
      return &top.back();
    }
    // Duplicates were refused in key(), so appending keeps this linear where operator[] would search.
    auto& members = *top.get_ptr<Json::object_t*>();
    members.Container::emplace_back(std::move(key_), std::move(v));
    return &members.back().second;
  }
  bool put(Json&& v) {
    place(std::move(v));
    return true;
  }
  bool open(Json&& v) {
    if (stack_.size() >= limits_.max_depth) return stop(Code::LimitExceeded, fmt::format("JSON is nested deeper than {}", limits_.max_depth));
    stack_.push_back(place(std::move(v)));
    keys_.emplace_back();
    return true;
  }
  bool close() {
    stack_.pop_back();
    keys_.pop_back();
    return true;
  }

  JsonLimits limits_;
  std::vector<Json*> stack_;
  std::vector<std::unordered_set<std::string>> keys_;
  std::string key_;
};

}  // namespace

Result<Json> parse_json(std::string_view text, const JsonLimits& limits) {
  if (text.size() > limits.max_bytes) return fail(Code::LimitExceeded, "JSON text has {} bytes, at most {} are read", text.size(), limits.max_bytes);
  Builder builder(limits);
  const bool ok = Json::sax_parse(text.begin(), text.end(), &builder);
  if (builder.error) return tl::make_unexpected(*std::move(builder.error));
  if (!ok) return fail(Code::CorruptData, "not valid JSON");
  return std::move(builder.root);
}

const Json* find(const Json& object, std::string_view key) {
  const auto* members = object.get_ptr<const Json::object_t*>();
  if (!members) return nullptr;
  for (const auto& [name, value] : *members)
    if (name == key) return &value;
  return nullptr;
}

std::optional<std::int64_t> as_int(const Json& value) {
  if (const auto* u = value.get_ptr<const Json::number_unsigned_t*>()) {
    if (*u > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
    return static_cast<std::int64_t>(*u);
  }
  if (const auto* i = value.get_ptr<const Json::number_integer_t*>()) return *i;
  if (const auto* f = value.get_ptr<const Json::number_float_t*>()) {
    if (*f == std::floor(*f) && std::abs(*f) < 9007199254740992.0) return static_cast<std::int64_t>(*f);
  }
  return std::nullopt;
}

std::optional<double> as_number(const Json& value) {
  if (const auto* f = value.get_ptr<const Json::number_float_t*>()) return *f;
  if (const auto* u = value.get_ptr<const Json::number_unsigned_t*>()) return static_cast<double>(*u);
  if (const auto* i = value.get_ptr<const Json::number_integer_t*>()) return static_cast<double>(*i);
  return std::nullopt;
}

std::optional<bool> as_bool(const Json& value) {
  if (const auto* b = value.get_ptr<const Json::boolean_t*>()) return *b;
  return std::nullopt;
}

const std::string* as_string(const Json& value) { return value.get_ptr<const Json::string_t*>(); }

std::string dump_json(const Json& value, int indent) { return value.dump(indent, ' ', false, Json::error_handler_t::replace); }

}  // namespace loom
