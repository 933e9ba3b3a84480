#include "graph/graph_json.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base64.h"
#include "core/checked.h"
#include "core/config_reader.h"
#include "core/json.h"
#include "core/nearest.h"
#include "core/shape.h"

namespace loom::graph {
namespace {

constexpr std::size_t kMostListed = 64;  // elements that are written as numbers
constexpr std::size_t kMostDepth = 16;   // of bodies inside of bodies
constexpr std::size_t kMostAxes = 16;

Json body_to_json(const Body& body);

bool is_listed(const Value& value) {
  if (value.elements() > kMostListed) return false;
  for (std::size_t i = 0; i < value.elements(); ++i)
    if (!std::isfinite(value.number(i))) return false;
  return true;
}

Json value_to_json(const Value& value) {
  Json out{{"type", name_of(value.type)}, {"shape", value.dims}};
  if (value.data == nullptr) return out;
  if (!is_listed(value)) {
    // No operation reads types that have no bytes, so the value has bytes.
    out["data"] = base64_encode(bytes_of_value(value).value_or(std::vector<std::byte>()));
    return out;
  }
  Json list = Json::array();
  for (std::size_t i = 0; i < value.elements(); ++i)
    list.push_back(is_float(value.type) ? Json(value.number(i)) : Json(value.as<std::int64_t>()[i]));
  out["values"] = std::move(list);
  return out;
}

Json attribute_to_json(const Attribute& a) {
  using Kind = Attribute::Kind;
  switch (a.kind) {
    case Kind::integer: return {{"i", a.integer}};
    case Kind::number: return {{"f", a.number}};
    case Kind::text: return {{"s", a.text}};
    case Kind::integers: return {{"ints", a.integers}};
    case Kind::numbers: return {{"floats", a.numbers}};
    case Kind::texts: return {{"strings", a.texts}};
    case Kind::tensor: return {{"t", value_to_json(a.tensor)}};
    default: return {{"g", body_to_json(*a.body)}};
  }
}

Json body_to_json(const Body& body) {
  Json inputs = Json::array(), constants = Json::array(), nodes = Json::array();
  for (const InputInfo& info : body.inputs) {
    inputs.push_back({{"name", info.name}});
    if (info.type != Type::none) inputs.back()["type"] = name_of(info.type);
    if (info.has_shape) inputs.back()["shape"] = info.dims;
  }
  for (const auto& [name, value] : body.constants) {
    constants.push_back(value_to_json(value));
    constants.back()["name"] = name;
  }
  for (const Node& node : body.nodes) {
    Json out{{"op", node.op}, {"inputs", node.inputs}, {"outputs", node.outputs}};
    if (!node.name.empty()) out["name"] = node.name;
    if (!node.domain.empty()) out["domain"] = node.domain;
    for (const auto& [key, a] : node.attributes) out["attributes"][key] = attribute_to_json(a);
    nodes.push_back(std::move(out));
  }
  Json out{{"inputs", std::move(inputs)}, {"outputs", body.outputs}, {"nodes", std::move(nodes)}};
  if (!constants.empty()) out["constants"] = std::move(constants);
  return out;
}

// Places of errors: the key or the index is put in front of what a part complains of.
template <class T>
Result<T> inside(std::string_view step, Result<T> part) {
  if (!part) return under({printable(step)}, std::move(part).error());
  return part;
}

Result<const Json*> member(const Json& object, std::string_view key) {
  const Json* const found = find(object, key);
  if (found == nullptr) return fail_at({std::string(key)}, Code::InvalidConfig, "is missing");
  return found;
}

Result<void> only_keys(const Json& object, std::string_view what, std::initializer_list<std::string_view> keys) {
  if (!object.is_object()) return fail(Code::InvalidConfig, "{}", expected(what, object));
  for (const auto& [key, value] : object.items())
    if (std::ranges::find(keys, key) == keys.end())
      return fail_at({printable(key)}, Code::UnknownKey, "unknown key; known: {}", fmt::join(keys, " "));
  return {};
}

Result<std::string> text_of_json(const Json& json) {
  const std::string* const text = as_string(json);
  if (text == nullptr) return fail(Code::InvalidConfig, "{}", expected("a string", json));
  return *text;
}

Result<std::int64_t> integer_of_json(const Json& json) {
  const auto n = as_int(json);
  if (!n) return fail(Code::InvalidConfig, "{}", expected("an integer", json));
  return *n;
}

Result<double> number_of_json(const Json& json) {
  const auto n = as_number(json);
  if (!n) return fail(Code::InvalidConfig, "{}", expected("a finite number", json));
  return *n;
}

// The items of a list that may be left out.
template <class T, class Read>
Result<std::vector<T>> list_of(const Json& object, std::string_view key, Read read) {
  std::vector<T> items;
  const Json* const list = find(object, key);
  if (list == nullptr) return items;
  if (!list->is_array()) return fail_at({std::string(key)}, Code::InvalidConfig, "{}", expected("a list", *list));
  for (const Json& json : *list) {
    auto item = inside(std::to_string(items.size()), Result<T>(read(json)));
    if (!item) return under({std::string(key)}, std::move(item).error());
    items.push_back(std::move(*item));
  }
  return items;
}

Result<std::string> text_member(const Json& object, std::string_view key) {
  const Json* const found = find(object, key);
  return found == nullptr ? Result<std::string>(std::string()) : inside(key, text_of_json(*found));
}

Result<Type> type_of_json(const Json& object) {
  LOOM_TRY(const std::string name, text_member(object, "type"));
  const Type type = name.empty() ? Type::none : type_from_name(name);
  if (!name.empty() && type == Type::none)
    return fail_at({"type"}, Code::UnknownName, "no type of values is called \"{}\"", printable(name));
  return type;
}

// Reads "values" into memory of the type.
Result<Value> listed_value(const Json& list, Type type, Dims dims) {
  if (!list.is_array()) return fail(Code::InvalidConfig, "{}", expected("a list of numbers", list));
  if (list.size() != count(dims))
    return fail(Code::ShapeMismatch, "{} numbers for the shape {}", list.size(), text_of(dims));
  LOOM_TRY(Value value, Value::create(type, std::move(dims)));
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string place = std::to_string(i);
    if (store_of(type) == Store::i64) {
      LOOM_TRY(const std::int64_t n, inside(place, integer_of_json(list[i])));
      if (wrapped(type, n) != n)
        return fail_at({place}, Code::OutOfRange, "{} is no number of type {}", n, name_of(type));
      value.as<std::int64_t>()[i] = n;
      continue;
    }
    LOOM_TRY(const double n, inside(place, number_of_json(list[i])));
    if (store_of(type) == Store::f64) {
      value.as<double>()[i] = n;
      continue;
    }
    if (std::abs(n) > static_cast<double>(std::numeric_limits<float>::max()))
      return fail_at({place}, Code::OutOfRange, "{} is beyond float32", n);
    value.as<float>()[i] = rounded(type, static_cast<float>(n));
  }
  return value;
}

Result<Value> value_of_json(const Json& json, bool is_named) {
  LOOM_TRY_VOID(is_named ? only_keys(json, "a constant as an object", {"name", "type", "shape", "values", "data"})
                         : only_keys(json, "a constant as an object", {"type", "shape", "values", "data"}));
  LOOM_TRY(const Type type, type_of_json(json));
  if (type == Type::none) return fail_at({"type"}, Code::InvalidConfig, "is missing");
  LOOM_TRY(const auto extents, list_of<std::int64_t>(json, "shape", integer_of_json));
  if (extents.size() > kMostAxes) return fail_at({"shape"}, Code::Unsupported, "{} axes", extents.size());
  Dims dims;
  std::size_t elements = 1;
  for (const std::int64_t extent : extents) {
    if (extent < 0) return fail_at({"shape"}, Code::InvalidConfig, "an extent of {}", extent);
    dims.push_back(static_cast<std::size_t>(extent));
    LOOM_TRY(elements, inside("shape", checked_mul(elements, dims.back())));
  }
  if (elements > Shape::kMaxElements) return fail_at({"shape"}, Code::SizeOverflow, "{} elements", elements);
  const Json *const values = find(json, "values"), *const data = find(json, "data");
  if (values != nullptr && data != nullptr)
    return fail_at({"data"}, Code::InvalidConfig, "given beside \"values\", which means the same");
  Value value;
  if (values != nullptr) {
    LOOM_TRY(value, inside("values", listed_value(*values, type, std::move(dims))));
  } else if (data != nullptr) {
    LOOM_TRY(const std::string text, inside("data", text_of_json(*data)));
    LOOM_TRY(const auto bytes, inside("data", base64_decode(text)));
    LOOM_TRY(value, inside("data", value_from_bytes(type, std::move(dims), bytes)));
  } else {
    value.type = type, value.dims = std::move(dims);
  }
  value.known = value.constant = value.data != nullptr;
  return value;
}

Result<Body> body_of_json(const Json& json, std::size_t depth);

Result<Attribute> attribute_of_json(const Json& json, std::size_t depth) {
  using Kind = Attribute::Kind;
  constexpr std::string_view kWhat = "an attribute as an object of one member: i, f, s, ints, floats, strings, t or g";
  if (!json.is_object() || json.size() != 1) return fail(Code::InvalidConfig, "{}", expected(kWhat, json));
  const std::string key = json.begin().key();
  const Json& given = json.begin().value();
  Attribute a;
  if (key == "i") {
    LOOM_TRY(a.integer, inside(key, integer_of_json(given)));
  } else if (key == "f") {
    a.kind = Kind::number;
    LOOM_TRY(a.number, inside(key, number_of_json(given)));
  } else if (key == "s") {
    a.kind = Kind::text;
    LOOM_TRY(a.text, inside(key, text_of_json(given)));
  } else if (key == "ints") {
    a.kind = Kind::integers;
    LOOM_TRY(a.integers, list_of<std::int64_t>(json, key, integer_of_json));
  } else if (key == "floats") {
    a.kind = Kind::numbers;
    LOOM_TRY(a.numbers, list_of<double>(json, key, number_of_json));
  } else if (key == "strings") {
    a.kind = Kind::texts;
    LOOM_TRY(a.texts, list_of<std::string>(json, key, text_of_json));
  } else if (key == "t") {
    a.kind = Kind::tensor;
    LOOM_TRY(a.tensor, inside(key, value_of_json(given, false)));
    if (a.tensor.data == nullptr) return fail_at({key}, Code::InvalidConfig, "neither \"values\" nor \"data\"");
  } else if (key == "g") {
    a.kind = Kind::body;
    LOOM_TRY(Body body, inside(key, body_of_json(given, depth + 1)));
    a.body = std::make_shared<const Body>(std::move(body));
  } else {
    return fail(Code::InvalidConfig, "{}", expected(kWhat, json));
  }
  return a;
}

Result<Node> node_of_json(const Json& json, std::size_t depth) {
  LOOM_TRY_VOID(only_keys(json, "a node as an object", {"op", "inputs", "outputs", "name", "domain", "attributes"}));
  Node node;
  LOOM_TRY_VOID(member(json, "op"));
  LOOM_TRY(node.op, text_member(json, "op"));
  LOOM_TRY(node.name, text_member(json, "name"));
  LOOM_TRY(node.domain, text_member(json, "domain"));
  LOOM_TRY(node.inputs, list_of<std::string>(json, "inputs", text_of_json));
  LOOM_TRY(node.outputs, list_of<std::string>(json, "outputs", text_of_json));
  const Json* const attributes = find(json, "attributes");
  if (attributes == nullptr) return node;
  if (!attributes->is_object())
    return fail_at({"attributes"}, Code::InvalidConfig, "{}", expected("an object", *attributes));
  for (const auto& [key, given] : attributes->items()) {
    auto read = inside(key, attribute_of_json(given, depth));
    if (!read) return under({"attributes"}, std::move(read).error());
    node.attributes.emplace_back(key, std::move(*read));
  }
  return node;
}

Result<InputInfo> input_of_json(const Json& json) {
  LOOM_TRY_VOID(only_keys(json, "an input as an object", {"name", "type", "shape"}));
  InputInfo info;
  LOOM_TRY_VOID(member(json, "name"));
  LOOM_TRY(info.name, text_member(json, "name"));
  LOOM_TRY(info.type, type_of_json(json));
  LOOM_TRY(info.dims, list_of<std::int64_t>(json, "shape", integer_of_json));
  info.has_shape = find(json, "shape") != nullptr;
  if (info.dims.size() > kMostAxes) return fail_at({"shape"}, Code::Unsupported, "{} axes", info.dims.size());
  for (std::int64_t& extent : info.dims) extent = std::max<std::int64_t>(extent, -1);
  return info;
}

Result<std::pair<std::string, Value>> constant_of_json(const Json& json, std::size_t depth) {
  LOOM_TRY(Value value, value_of_json(json, true));
  LOOM_TRY_VOID(member(json, "name"));
  LOOM_TRY(std::string name, text_member(json, "name"));
  if (depth != 0 && value.data == nullptr)
    return fail(Code::InvalidConfig, "neither \"values\" nor \"data\": the bodies of operations have no weights");
  return std::pair{std::move(name), std::move(value)};
}

Result<Body> body_of_json(const Json& json, std::size_t depth) {
  if (depth > kMostDepth) return fail(Code::NestingTooDeep, "bodies of operations {} deep", depth);
  LOOM_TRY_VOID(depth == 0
                    ? only_keys(json, "a graph as an object", {"opset", "inputs", "outputs", "constants", "nodes"})
                    : only_keys(json, "a body as an object", {"inputs", "outputs", "constants", "nodes"}));
  Body body;
  using Constant = std::pair<std::string, Value>;
  LOOM_TRY(body.inputs, list_of<InputInfo>(json, "inputs", input_of_json));
  LOOM_TRY(body.outputs, list_of<std::string>(json, "outputs", text_of_json));
  LOOM_TRY(body.nodes, list_of<Node>(json, "nodes", [&](const Json& item) { return node_of_json(item, depth); }));
  LOOM_TRY(body.constants,
           list_of<Constant>(json, "constants", [&](const Json& item) { return constant_of_json(item, depth); }));
  return body;
}

}  // namespace

Json graph_to_json(const Model& model) {
  Json out = body_to_json(model.body);
  out["opset"] = model.opset;
  return out;
}

Result<Model> graph_from_json(const Json& json) {
  Model model;
  LOOM_TRY(model.body, body_of_json(json, 0));
  if (const Json* const given = find(json, "opset")) {
    LOOM_TRY(const std::int64_t opset, inside("opset", integer_of_json(*given)));
    if (opset < kLeastOpset || opset > kMostOpset)
      return fail_at({"opset"}, Code::Unsupported, "opset {}, {} to {} are read", opset, kLeastOpset, kMostOpset);
    model.opset = static_cast<int>(opset);
  }
  return model;
}

}  // namespace loom::graph
