#pragma once
// Writers of a config's fields: its values, and the JSON Schema that describes it.

#include "core/config_visitor.h"
#include "core/json.h"

namespace loom {

// Every field under its first name, in the order of the visit; what has no value is left out.
class ConfigWriter : public virtual ConfigVisitor {
 public:
  explicit ConfigWriter(Json& object) : object_(object) {}
  using ConfigVisitor::operator();
  void operator()(Key key, bool& value) override { put(key, value); }
  void operator()(Key key, std::string& value) override { put(key, value); }
  void operator()(Key key, std::optional<std::int64_t>& value) override;
  void operator()(Key key, std::vector<double>& value) override { put(key, value); }
  void operator()(Key key, std::vector<std::string>& value) override { put(key, value); }
  void operator()(Key key, std::vector<std::int64_t>& value) override { put(key, value); }
  void operator()(Key key, std::vector<bool>& value) override { put(key, value); }
  void json(Key key, Json& value) override { put(key, value); }
  void object(Key key, const Fields& fields, std::string_view name) override;

 protected:
  void whole(Key key, std::uint64_t& value, SizeRange) override { put(key, value); }
  void wholes(Key key, std::vector<std::size_t>& value, SizeRange) override { put(key, value); }
  void number(Key key, double& value, NumberRange) override { put(key, value); }
  void number(Key key, std::optional<double>& value, NumberRange) override;
  void list(Key key, std::size_t size, const std::function<void(std::size_t)>& resize,
            const std::function<void(std::size_t, ConfigVisitor&)>& item) override;
  void choose(Key key, std::size_t& index, std::span<const std::string_view> names, Code unknown) override;
  void put(Key key, Json value);

 private:
  Json& object_;
};

// Returns the keys that `visit` visits, with the values of their members, as a JSON object.
Json written_config(const ConfigVisitor::Fields& visit);

// Removes members that have the value of `defaults`, in objects inside too.
void drop_defaults(Json& values, const Json& defaults);

// "properties" of a JSON Schema (draft 2020-12), with each key's help as its description. An alias has the key's first
// name as its title.
class SchemaWriter : public virtual ConfigVisitor {
 public:
  explicit SchemaWriter(Json& properties) : properties_(properties) {}
  using ConfigVisitor::operator();
  void operator()(Key key, bool& value) override { put(key, {{"type", "boolean"}, {"default", value}}); }
  void operator()(Key key, std::string& value) override { put(key, {{"type", "string"}, {"default", value}}); }
  void operator()(Key key, std::optional<std::int64_t>& value) override;
  void operator()(Key key, std::vector<double>& value) override;
  void operator()(Key key, std::vector<std::string>& value) override;
  void operator()(Key key, std::vector<std::int64_t>& value) override;
  void operator()(Key key, std::vector<bool>& value) override;
  void json(Key key, Json& value) override;
  void object(Key key, const Fields& fields, std::string_view name) override;
  bool describes() const override { return true; }

 protected:
  void whole(Key key, std::uint64_t& value, SizeRange range) override;
  void wholes(Key key, std::vector<std::size_t>& value, SizeRange items) override;
  void number(Key key, double& value, NumberRange range) override;
  void number(Key key, std::optional<double>& value, NumberRange range) override;
  void list(Key key, std::size_t size, const std::function<void(std::size_t)>& resize,
            const std::function<void(std::size_t, ConfigVisitor&)>& item) override;
  void choose(Key key, std::size_t& index, std::span<const std::string_view> names, Code unknown) override;
  // A key that is put a second time with another default loses its default: it depends on other keys.
  void put(Key key, Json schema);
  // Adds the schema of a key that has a default.
  void put(Key key, Json schema, Json standard);

 private:
  Json& properties_;
};

// {"type": "object", "properties": what `visit` sees, "additionalProperties": false}.
Json object_schema(const ConfigVisitor::Fields& visit);
// Returns the schema of a whole file.
Json file_schema(const char* title, const std::vector<std::string>& required, const ConfigVisitor::Fields& visit);

// One row of a manual's table of keys: "data.augment.noise", the default as JSON or "-", the help, other names.
struct KeyRow {
  std::string key, standard, help;
  std::vector<std::string> aliases;
};
std::vector<KeyRow> key_rows(const Json& schema);

}  // namespace loom
