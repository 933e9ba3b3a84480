#pragma once
// These functions tell whether a value fits a JSON Schema.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "core/json.h"
#include "support/files.h"
#include "support/paths.h"

namespace loom::test {

// Enough of JSON Schema (draft 2020-12) for what Loom writes; any other keyword is a failure.
class SchemaCheck {
 public:
  explicit SchemaCheck(const Json& schema) : root_(schema) {}

  bool fits(const Json& value, const Json& schema) const {
    if (schema.is_boolean()) return schema.get<bool>();
    for (const auto& [keyword, want] : schema.items())
      if (!holds(value, schema, keyword, want)) return false;
    return true;
  }

 private:
  static bool is_a(const Json& value, const std::string& type) {
    if (type == "object") return value.is_object();
    if (type == "array") return value.is_array();
    if (type == "string") return value.is_string();
    if (type == "boolean") return value.is_boolean();
    if (type == "null") return value.is_null();
    if (type == "integer") return value.is_number_integer();
    EXPECT_EQ(type, "number");
    return value.is_number();
  }
  std::size_t count(const Json& value, const Json& schemas) const {
    return static_cast<std::size_t>(std::ranges::count_if(schemas, [&](const Json& s) { return fits(value, s); }));
  }
  bool holds(const Json& value, const Json& schema, const std::string& keyword, const Json& want) const {
    for (const char* note : {"$schema", "$defs", "title", "default", "description"})
      if (keyword == note) return true;
    if (keyword == "type") {
      if (want.is_string()) return is_a(value, want.get<std::string>());
      return std::ranges::any_of(want, [&](const Json& type) { return is_a(value, type.get<std::string>()); });
    }
    if (keyword == "enum") return std::ranges::find(want, value) != want.end();
    if (keyword == "const") return value == want;
    if (keyword == "minimum") return !value.is_number() || value >= want;
    if (keyword == "maximum") return !value.is_number() || value <= want;
    if (keyword == "minItems") return !value.is_array() || value.size() >= want.get<std::size_t>();
    if (keyword == "maxItems") return !value.is_array() || value.size() <= want.get<std::size_t>();
    if (keyword == "items")
      return !value.is_array() || std::ranges::all_of(value, [&](const Json& item) { return fits(item, want); });
    if (keyword == "anyOf") return count(value, want) >= 1;
    if (keyword == "oneOf") return count(value, want) == 1;
    if (keyword == "required")
      return !value.is_object() ||
             std::ranges::all_of(want, [&](const Json& key) { return value.contains(key.get<std::string>()); });
    if (keyword == "properties") {
      if (!value.is_object()) return true;
      return std::ranges::all_of(value.items(), [&](const auto& member) {
        const Json* own = find(want, member.key());
        return own == nullptr || fits(member.value(), *own);
      });
    }
    if (keyword == "additionalProperties" && want == false) {
      if (!value.is_object()) return true;
      return std::ranges::all_of(
          value.items(), [&](const auto& member) { return find(schema["properties"], member.key()) != nullptr; });
    }
    if (keyword == "$ref" && want == "#/$defs/layer") return fits(value, root_["$defs"]["layer"]);
    ADD_FAILURE() << "a keyword that this test does not know: " << keyword << " " << want;
    return false;
  }
  const Json& root_;
};

// Every .json file of a folder of the repository that `counts`; how many there are.
template <class F>
std::size_t expect_examples_fit(const Json& schema, const std::string& folder, F counts) {
  std::size_t seen = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(source_path(folder))) {
    if (entry.path().extension() != ".json") continue;
    const Json file = read_json(entry.path().string());
    if (!counts(file)) continue;
    ++seen;
    EXPECT_TRUE(SchemaCheck(schema).fits(file, schema)) << entry.path();
  }
  return seen;
}

}  // namespace loom::test
