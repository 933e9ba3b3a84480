#pragma once
// Options of a trial as its modes read them; what is missing or of another type is the fallback.

#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"

namespace loom {

inline std::size_t number_option(const Json& options, std::string_view key, std::size_t fallback = 0) {
  const Json* found = find(options, key);
  return found == nullptr ? fallback : static_cast<std::size_t>(as_int(*found).value_or(0));
}
inline bool flag_option(const Json& options, std::string_view key) {
  const Json* found = find(options, key);
  return found != nullptr && as_bool(*found).value_or(false);
}
inline std::string text_option(const Json& options, std::string_view key, const char* fallback = "") {
  const Json* found = find(options, key);
  const std::string* text = found == nullptr ? nullptr : as_string(*found);
  return text == nullptr ? fallback : *text;
}

inline std::vector<std::size_t> list_option(const Json& options, std::string_view key) {
  std::vector<std::size_t> list;
  if (const Json* found = find(options, key); found != nullptr && found->is_array())
    for (const Json& item : *found) list.push_back(static_cast<std::size_t>(as_int(item).value_or(0)));
  return list;
}

}  // namespace loom
