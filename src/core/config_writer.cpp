#include "core/config_writer.h"

#include <algorithm>
#include <cmath>

#include "core/nearest.h"

namespace loom {
namespace {

Json bounded(const char* type, SizeRange range) {
  Json schema = {{"type", type}, {"minimum", range.min}};
  if (range.max < kAnySize.max) schema["maximum"] = range.max;
  return schema;
}

Json bounded(NumberRange range) {
  Json schema = {{"type", "number"}};
  if (std::isfinite(range.min)) schema["minimum"] = range.min;
  if (std::isfinite(range.max)) schema["maximum"] = range.max;
  return schema;
}

Json list_of(Json item) { return {{"type", "array"}, {"items", std::move(item)}}; }

void add_rows(const Json& schema, const std::string& place, std::vector<KeyRow>& rows) {
  const Json* object = &schema;
  if (const Json* any = find(schema, "anyOf"))
    for (const Json& one : *any)
      if (find(one, "properties") != nullptr) object = &one;
  if (const Json* items = find(schema, "items")) object = items;
  const Json* properties = find(*object, "properties");
  if (properties == nullptr) return;
  for (const auto& [key, value] : properties->items()) {
    const Json *standard = find(value, "default"), *help = find(value, "description"), *first = find(value, "title");
    std::string name = place + key;
    if (first != nullptr) {
      const auto same = std::ranges::find(rows, place + *as_string(*first), &KeyRow::key);
      if (same != rows.end()) same->aliases.push_back(std::move(name));
      continue;
    }
    rows.push_back(
        {name, standard == nullptr ? "-" : dump_json(*standard), help == nullptr ? "" : *as_string(*help), {}});
    add_rows(value, name + ".", rows);
  }
}

}  // namespace

void ConfigWriter::put(Key key, Json value) { object_[std::string(key.first())] = std::move(value); }

void ConfigWriter::operator()(Key key, std::optional<std::int64_t>& value) {
  if (value) put(key, *value);
}

void ConfigWriter::number(Key key, std::optional<double>& value, NumberRange) {
  if (value) put(key, *value);
}

void ConfigWriter::object(Key key, const Fields& fields, std::string_view) { put(key, written_config(fields)); }

void ConfigWriter::list(Key key, std::size_t size, const std::function<void(std::size_t)>&,
                        const std::function<void(std::size_t, ConfigVisitor&)>& item) {
  Json all = Json::array();
  const Json fresh = written_config([&](ConfigVisitor& visit) { item(size, visit); });
  for (std::size_t i = 0; i < size; ++i) {
    all.push_back(written_config([&](ConfigVisitor& visit) { item(i, visit); }));
    drop_defaults(all.back(), fresh);
  }
  put(key, std::move(all));
}

void ConfigWriter::choose(Key key, std::size_t& index, std::span<const std::string_view> names, Code) {
  put(key, std::string(Key(names[index]).first()));
}

Json written_config(const ConfigVisitor::Fields& visit) {
  Json out = Json::object();
  ConfigWriter writer(out);
  visit(writer);
  return out;
}

void drop_defaults(Json& values, const Json& defaults) {
  std::vector<std::string> same;
  for (auto& [key, value] : values.items()) {
    const Json* standard = find(defaults, key);
    if (standard == nullptr) continue;
    if (value == *standard) {
      same.push_back(key);
    } else if (value.is_object() && standard->is_object()) {
      drop_defaults(value, *standard);
    }
  }
  for (const std::string& key : same) values.erase(key);
}

void SchemaWriter::put(Key key, Json schema) {
  if (!key.help.empty()) schema["description"] = std::string(key.help);
  if (const Json* before = find(properties_, key.first())) {
    const Json *now = find(schema, "default"), *then = find(*before, "default");
    if (now == nullptr || then == nullptr || *now != *then) schema.erase("default");
  }
  for (const std::string_view name : split_names(key.names)) {
    if (name != key.first()) schema["title"] = std::string(key.first());
    properties_[std::string(name)] = schema;
  }
}

void SchemaWriter::put(Key key, Json schema, Json standard) {
  schema["default"] = std::move(standard);
  put(key, std::move(schema));
}

void SchemaWriter::operator()(Key key, std::optional<std::int64_t>& value) {
  Json schema = {{"type", Json::array({"integer", "null"})}};
  if (value) schema["default"] = *value;
  put(key, std::move(schema));
}

void SchemaWriter::number(Key key, std::optional<double>& value, NumberRange range) {
  Json schema = bounded(range);
  schema["type"] = Json::array({"number", "null"});
  if (value) schema["default"] = *value;
  put(key, std::move(schema));
}

void SchemaWriter::whole(Key key, std::uint64_t& value, SizeRange range) {
  // A value that the key itself refuses stands for none: the key is required where it is read.
  if (value < range.min) return put(key, bounded("integer", range));
  put(key, bounded("integer", range), value);
}

void SchemaWriter::number(Key key, double& value, NumberRange range) { put(key, bounded(range), value); }

void SchemaWriter::operator()(Key key, std::vector<double>& value) { put(key, list_of({{"type", "number"}}), value); }
void SchemaWriter::operator()(Key key, std::vector<std::string>& value) {
  put(key, list_of({{"type", "string"}}), value);
}
void SchemaWriter::wholes(Key key, std::vector<std::size_t>& value, SizeRange items) {
  put(key, list_of(bounded("integer", items)), value);
}
void SchemaWriter::operator()(Key key, std::vector<std::int64_t>& value) {
  put(key, list_of({{"type", "integer"}}), value);
}
void SchemaWriter::operator()(Key key, std::vector<bool>& value) { put(key, list_of({{"type", "boolean"}}), value); }

void SchemaWriter::json(Key key, Json&) { put(key, Json::object()); }

void SchemaWriter::object(Key key, const Fields& fields, std::string_view name) {
  Json schema = object_schema(fields);
  put(key, name.empty() ? std::move(schema) : Json{{"anyOf", Json::array({{{"type", "string"}}, std::move(schema)})}});
}

void SchemaWriter::list(Key key, std::size_t size, const std::function<void(std::size_t)>&,
                        const std::function<void(std::size_t, ConfigVisitor&)>& item) {
  Json schema = list_of(object_schema([&](ConfigVisitor& visit) { item(size, visit); }));
  schema["maxItems"] = kMaxObjects;
  put(key, std::move(schema));
}

void SchemaWriter::choose(Key key, std::size_t& index, std::span<const std::string_view> names, Code) {
  Json all = Json::array();
  for (const std::string_view row : names) {
    if (row.empty()) all.push_back("");
    for (const std::string_view name : split_names(row)) all.push_back(std::string(name));
  }
  put(key, {{"enum", std::move(all)}, {"default", std::string(Key(names[index]).first())}});
}

Json object_schema(const ConfigVisitor::Fields& visit) {
  Json properties = Json::object();
  SchemaWriter writer(properties);
  visit(writer);
  return {{"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
}

Json file_schema(const char* title, const std::vector<std::string>& required, const ConfigVisitor::Fields& visit) {
  Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", title}};
  schema.update(object_schema(visit));
  schema["required"] = required;
  return schema;
}

std::vector<KeyRow> key_rows(const Json& schema) {
  std::vector<KeyRow> rows;
  add_rows(schema, "", rows);
  return rows;
}

}  // namespace loom
