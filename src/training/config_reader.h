#pragma once
// Reads members of a JSON object into variables, each named once. The first error is kept and returned by finish(), which also refuses
// keys that were not asked for.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"

namespace loom {

class ConfigReader {
 public:
  // `place` stands in front of messages: "data.validation". Null: every member keeps its default.
  ConfigReader(const Json* object, std::string place);

  void operator()(std::string_view key, bool& value);
  void operator()(std::string_view key, double& value);
  void operator()(std::string_view key, std::string& value);
  void operator()(std::string_view key, std::optional<double>& value);
  void operator()(std::string_view key, std::optional<std::int64_t>& value);
  void operator()(std::string_view key, std::vector<double>& value);
  void operator()(std::string_view key, std::vector<std::string>& value);
  void operator()(std::string_view key, float& value);
  // Whole numbers up to `max`.
  template <class T>
    requires std::is_unsigned_v<T>
  void operator()(std::string_view key, T& value, std::uint64_t min = 0, std::uint64_t max = std::uint64_t{1} << 53) {
    std::uint64_t wide = value;
    whole(key, wide, min, std::min<std::uint64_t>(max, std::numeric_limits<T>::max()));
    value = static_cast<T>(wide);
  }
  template <class T>
    requires std::is_unsigned_v<T>
  void operator()(std::string_view key, std::vector<T>& value) {
    std::vector<std::uint64_t> wide(value.begin(), value.end());
    wholes(key, wide);
    value.assign(wide.begin(), wide.end());
  }

  // The member itself, or null; it counts as known.
  const Json* member(std::string_view key, const Json& standard = {});
  void fail(std::string_view key, std::string_view expected);
  std::string place_of(std::string_view key) const { return place_.empty() ? std::string(key) : place_ + "." + std::string(key); }

  // Keys that readers of this thread asked for while `reading` ran, with the defaults: docs/training.md is checked against it.
  struct Key {
    std::string place;
    Json standard;  // null: none, or one that depends on others
  };
  static std::vector<Key> keys_asked_for(const std::function<void()>& reading);

  // InvalidConfig, UnknownKey with the nearest keys; the place in front.
  Result<void> finish();

 private:
  void whole(std::string_view key, std::uint64_t& value, std::uint64_t min, std::uint64_t max);
  void wholes(std::string_view key, std::vector<std::uint64_t>& value);
  const Json* object_;
  std::string place_;
  std::vector<std::string_view> known_;
  std::optional<Error> error_;
};

}  // namespace loom
