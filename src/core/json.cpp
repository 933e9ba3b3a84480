#include "core/json.h"

#include <algorithm>
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
    if (!keys_.back().insert(name).second)
      return stop(Code::CorruptData, fmt::format("key \"{}\" appears twice", name.substr(0, 80)));
    key_ = std::move(name);
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    bad_byte = position == 0 ? 0 : position - 1;
    if (!error) error = Error{Code::CorruptData, fmt::format("not valid JSON at byte {}", bad_byte)};
    return false;
  }

  Json root;
  std::optional<Error> error;
  std::size_t bad_byte = 0;  // of a syntax error

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
    if (stack_.size() >= limits_.max_depth)
      return stop(Code::LimitExceeded, fmt::format("JSON is nested deeper than {}", limits_.max_depth));
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

class CanonicalWriter {
 public:
  Result<void> put(const Json& v) {
    switch (v.type()) {
      case Json::value_t::object: return object(*v.get_ptr<const Json::object_t*>());
      case Json::value_t::array: return array(v);
      case Json::value_t::string: return string(*v.get_ptr<const Json::string_t*>());
      case Json::value_t::number_float: return number(*v.get_ptr<const Json::number_float_t*>());
      case Json::value_t::binary:
      case Json::value_t::discarded: return fail(Code::InvalidArgument, "a value that JSON has no text for");
      default: text += v.dump(); return {};
    }
  }

  std::string text;

 private:
  Result<void> object(const Json::object_t& members) {
    std::vector<const Json::object_t::value_type*> sorted;
    sorted.reserve(members.size());
    for (const auto& member : members) sorted.push_back(&member);
    std::sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) { return a->first < b->first; });
    char before = '{';
    for (const auto* member : sorted) {
      text += before, before = ',';
      LOOM_TRY_VOID(string(member->first));
      text += ':';
      LOOM_TRY_VOID(put(member->second));
    }
    text += before == '{' ? "{}" : "}";
    return {};
  }
  Result<void> array(const Json& items) {
    char before = '[';
    for (const Json& item : items) {
      text += before, before = ',';
      LOOM_TRY_VOID(put(item));
    }
    text += before == '[' ? "[]" : "]";
    return {};
  }
  Result<void> number(double v) {
    if (!std::isfinite(v)) return fail(Code::NonFinite, "JSON has no text for the number {}", v);
    text += v == 0 && std::signbit(v) ? "-0.0" : fmt::format("{}", v);  // "-0" would read back as the integer 0
    return {};
  }
  Result<void> string(const std::string& s) {
    if (!is_utf8(s)) return fail(Code::InvalidArgument, "a string of {} bytes is no UTF-8", s.size());
    text += '"';
    for (const char c : s) {
      constexpr std::string_view kShort = "\b\f\n\r\t\"\\", kLetters = "bfnrt\"\\";
      if (const std::size_t k = kShort.find(c); k != kShort.npos)
        text += '\\', text += kLetters[k];
      else if (static_cast<unsigned char>(c) < 0x20)
        text += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
      else
        text += c;
    }
    text += '"';
    return {};
  }
};

// Returns whether there is what Python and JavaScript write for numbers that JSON has not: NaN, Infinity, -Infinity.
bool is_no_number(std::string_view text, std::size_t at) {
  for (const std::string_view name : {"NaN", "Infinity", "nan", "inf"})
    for (const std::size_t back : {0, 1})  // the reader may have taken the first letter
      if (at >= back && at <= text.size() && text.substr(at - back).starts_with(name)) return true;
  return false;
}

}  // namespace

Result<Json> parse_json(std::string_view text, const JsonLimits& limits) {
  if (text.size() > limits.max_bytes)
    return fail(Code::LimitExceeded, "JSON text has {} bytes, at most {} are read", text.size(), limits.max_bytes);
  if (text.find_first_not_of(" \t\r\n") == text.npos) return fail(Code::CorruptData, "empty, expected JSON");
  // The parser takes a NUL for the end and would ignore what follows it. NULs alone are padding.
  if (const auto nul = text.find('\0'); nul != text.npos)
    if (const auto more = text.find_first_not_of('\0', nul); more != text.npos)
      return fail(Code::CorruptData, "not valid JSON at byte {}", nul);
  Builder builder(limits);
  const bool ok = Json::sax_parse(text.begin(), text.end(), &builder);
  if (builder.error && builder.error->message.starts_with("not valid") && is_no_number(text, builder.bad_byte))
    builder.error->message += ": JSON has no NaN and no Infinity, expected a number or null";
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

std::string dump_json(const Json& value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

Result<std::string> dump_canonical(const Json& value) {
  CanonicalWriter out;
  LOOM_TRY_VOID(out.put(value));
  return std::move(out.text);
}

bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = [&](std::size_t k) { return i + k < text.size() ? static_cast<unsigned char>(text[i + k]) : 0u; };
    const unsigned first = byte(0), second = byte(1);
    const std::size_t length = first < 0x80   ? 1
                               : first < 0xc2 ? 0
                               : first < 0xe0 ? 2
                               : first < 0xf0 ? 3
                               : first < 0xf5 ? 4
                                              : 0;
    if (length == 0) return false;
    for (std::size_t k = 1; k < length; ++k)
      if ((byte(k) & 0xc0) != 0x80) return false;
    // Overlong forms, surrogates, and code points above U+10FFFF.
    if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) || (first == 0xf0 && second < 0x90) ||
        (first == 0xf4 && second > 0x8f))
      return false;
    i += length;
  }
  return true;
}

}  // namespace loom
