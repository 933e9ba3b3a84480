// The JSON Schema of a spec, and its parts as manuals show them.

#include <fmt/format.h>

#include "core/config_writer.h"
#include "core/nearest.h"
#include "core/numerics_version.h"
#include "layers/all.h"
#include "network/spec/spec.h"
#include "network/spec/spec_fields.h"

namespace loom {
namespace {

// A config's schema that also describes what refers to layers.
class LayerSchema final : public FieldVisitor, public SchemaWriter {
 public:
  explicit LayerSchema(Json& properties) : SchemaWriter(properties) {}
  using SchemaWriter::operator();
  // A key that no visitor reads as a field.
  void add(Key key, Json schema) { put(key, std::move(schema)); }
  void operator()(Key key, Activation& value) override {
    // Names that editors offer; the reader also takes aliases.
    Json names = Json::array();
    for (std::size_t i = 0; i < kNumActivations; ++i) names.push_back(std::string(name(static_cast<Activation>(i))));
    put(key,
        {{"anyOf", Json::array({{{"enum", names}}, {{"type", "string"}}})}, {"default", std::string(name(value))}});
  }
  void operator()(Key key, AxisSizes&) override {
    const Json list = {{"type", "array"}, {"items", kSize}, {"maxItems", 3}};
    put(key, {{"anyOf", Json::array({kSize, list})}});
  }
  void operator()(Key key, SkipFrom&) override {
    put(key, {{"anyOf", Json::array({{{"enum", {"previous", "none", "external"}}}, kSize, kAddress})}});
  }
  void operator()(Key key, LayerRef&) override { put(key, {{"anyOf", Json::array({{{"type", "string"}}, kAddress})}}); }
  void operator()(Key key, std::vector<LayerPtr>&) override {
    put(key, {{"type", "array"}, {"items", {{"$ref", "#/$defs/layer"}}}});
  }
  void operator()(Key key, LayerPtr&) override { put(key, {{"$ref", "#/$defs/layer"}}); }

 private:
  const Json kSize = {{"type", "integer"}, {"minimum", 0}};
  const Json kAddress = {{"type", "array"}, {"items", kSize}, {"minItems", 4}, {"maxItems", 4}};
};

void add_address(LayerSchema& writer) {
  const Json coordinate = {{"type", "integer"}, {"minimum", 0}, {"maximum", 65535}};
  writer.add({"z", "Plane of the cell. Layers of a grid have an address [z, y, x, l], all others none"}, coordinate);
  writer.add({"y", "Row of the cell"}, coordinate);
  writer.add({"x", "Column of the cell"}, coordinate);
  writer.add({"l", "Which of the cells at this place"}, coordinate);
}

void add_hints(LayerSchema& writer, std::span<const Key> hints) {
  for (const Key& hint : hints) writer.add(hint, Json::object());
}

constexpr Key kTypeKey{"type", "Required, but not in a link. The kind by any of its names"};
constexpr Key kLinkKey{"is_remote_link", "This is a link: it uses another cell of the grid"};
constexpr Key kWeightsKey{"weights",
                          "Values of weights by name: a list of numbers, or codes as a JSON checkpoint has them"};

// Keys of every layer: add_head() adds those before the keys of its kind, add_tail() those after them.
void add_head(LayerSchema& writer, Json& properties, const Json& type) {
  writer.add(kTypeKey, type);
  add_address(writer);
  CommonSettings common;
  visit_common(writer, common);
  Json& group_size = properties["group_size"];
  for (const char* range : {"type", "minimum", "maximum"}) group_size.erase(range);
  group_size["enum"] = kGroupSizes;
}
void add_tail(LayerSchema& writer) {
  writer.add(kWeightsKey, {{"type", "object"}});
  add_hints(writer, kHintKeys);
}

void add_link(LayerSchema& writer, const Json& is_link) {
  writer.add(kLinkKey, is_link);
  Share().fields(writer);
}

Json whole_schema(const LayerKind& kind) {
  Json names = Json::array({std::string(kind.name)}), properties = Json::object();
  for (const std::string_view alias : split_names(kind.aliases)) names.push_back(std::string(alias));
  LayerSchema writer(properties);
  add_head(writer, properties, {{"enum", names}});
  kind.fresh()->fields(writer);
  add_link(writer, {{"type", "boolean"}});
  add_tail(writer);
  return {{"title", std::string(kind.name)},
          {"description", fmt::format("{}. Shapes: {}", kind.help, kind.shapes)},
          {"type", "object"},
          {"properties", std::move(properties)},
          {"required", {"type"}},
          {"additionalProperties", false}};
}

// A link without an operation of its own.
Json whole_schema_of_link() {
  Json properties = Json::object();
  LayerSchema writer(properties);
  add_link(writer, {{"const", true}});
  add_head(writer, properties, Json::object());
  properties["type"] = false;
  return {{"title", "link"},
          {"description", fmt::format("{}. Shapes: {}", Share::kKind.help, Share::kKind.shapes)},
          {"type", "object"},
          {"properties", std::move(properties)},
          {"required", {"is_remote_link"}}};
}

Json network_properties() {
  Json properties = Json::object();
  LayerSchema writer(properties);
  const Json extent = {{"type", "integer"}, {"minimum", 1}, {"maximum", 65536}},
             axes = {{"type", "array"}, {"items", {{"type", "integer"}, {"minimum", 1}}}};
  writer.add({"layers", "Required. The layers: a list runs from the first to the last; in a grid any order will do"},
             {{"type", "array"}, {"items", {{"$ref", "#/$defs/layer"}}}});
  writer.add({"input_shape", "Shape of one sample, without the batch; if given, all shapes are checked on reading"},
             axes);
  writer.add({"seed", "Number that weights are drawn by, of 64 bits; its digits as a text will do"},
             {{"type", Json::array({"integer", "string"})}, {"default", 0}});
  NetworkSettings settings;
  visit_settings(writer, settings);
  properties["init"]["enum"] = {"auto", "uniform", "he", "xavier", "normal", "zeros", "identity", "none"};
  writer.add({"depth", "Planes of the grid: z runs below it. Without these four keys the layers are a list"}, extent);
  writer.add({"rows", "Rows of a plane, for y"}, extent);
  writer.add({"cols", "Columns of a plane, for x"}, extent);
  writer.add({"layers_per_cell", "Cells at each of these places, for l"}, extent);
  writer.add({"strict", "false: unknown keys are warnings, not errors"}, {{"type", "boolean"}, {"default", true}});
  writer.add({"numerics_version", "If given, the version of the numerics that this program must have"},
             {{"const", kNumericsVersion}});
  writer.add({"metadata", "An object of yours, which is kept"}, {{"type", "object"}});
  add_hints(writer, kNetworkHintKeys);
  return properties;
}

}  // namespace

Json kind_schema(const LayerKind& kind) {
  Json properties = Json::object();
  LayerSchema writer(properties);
  kind.fresh()->fields(writer);
  return {{"properties", std::move(properties)}};
}

Json layer_schema() {
  Json properties = Json::object();
  LayerSchema writer(properties);
  add_head(writer, properties, {{"type", "string"}});
  add_tail(writer);
  return {{"properties", std::move(properties)}};
}

Json link_schema() {
  Json properties = Json::object();
  LayerSchema writer(properties);
  add_link(writer, {{"type", "boolean"}, {"default", false}});
  return {{"properties", std::move(properties)}};
}

Json spec_schema() {
  Json kinds = Json::array();
  for (const LayerKind* kind : all_layer_kinds()) kinds.push_back(whole_schema(*kind));
  kinds.push_back(whole_schema_of_link());
  return {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
          {"title", "Loom network"},
          {"type", "object"},
          {"properties", network_properties()},
          {"required", Json::array({"layers"})},  // without extents the layers are a list
          {"additionalProperties", false},
          {"$defs", {{"layer", {{"oneOf", std::move(kinds)}}}}}};
}

}  // namespace loom
