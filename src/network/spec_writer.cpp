#include "core/config_writer.h"
#include "core/nearest.h"
#include "core/numerics_version.h"
#include "layers/all.h"
#include "network/spec.h"
#include "network/spec_fields.h"

namespace loom {
namespace {

// Defaults of the network for layers that give no value.
struct Standard {
  DType dtype = DType::float32;
  std::string init;
  double init_scale = 0;
};

Json written(const Layer& layer, const Standard& standard);

Json skip_text(const SkipFrom& from) {
  constexpr std::array<std::string_view, 4> kNames = {"default", "previous", "none", "external"};
  if (from.kind == SkipFrom::Kind::Child) return from.child;
  if (from.kind == SkipFrom::Kind::Cell) return from.cell;
  return std::string(kNames[static_cast<std::size_t>(from.kind)]);
}

// A config's writer that also writes what refers to layers.
class JsonWriter final : public FieldVisitor, public ConfigWriter {
 public:
  JsonWriter(Json& object, const Standard& standard) : ConfigWriter(object), standard_(standard) {}
  using ConfigWriter::operator();
  void operator()(Key key, Activation& value) override { put(key, std::string(name(value))); }
  void operator()(Key key, AxisSizes& value) override {
    put(key, value.values.size() == 1 ? Json(value.values[0]) : Json(value.values));
  }
  void operator()(Key key, SkipFrom& value) override { put(key, skip_text(value)); }
  void operator()(Key key, LayerRef& value) override {
    put(key, value.address ? Json(*value.address) : Json(value.path));
  }
  void operator()(Key key, std::vector<LayerPtr>& children) override {
    Json list = Json::array();
    for (const LayerPtr& child : children) list.push_back(written(*child, standard_));
    put(key, std::move(list));
  }
  void operator()(Key key, LayerPtr& child) override {
    if (child) put(key, written(*child, standard_));
  }

 private:
  const Standard& standard_;
};

// Visitors read and write with one list of fields.
Json common_settings(const CommonSettings& common, const Standard& standard) {
  Json out = Json::object();
  JsonWriter writer(out, standard);
  visit_common(writer, const_cast<CommonSettings&>(common));
  return out;
}
Json own_settings(const Layer& layer, const Standard& standard) {
  Json out = Json::object();
  JsonWriter writer(out, standard);
  const_cast<Layer&>(layer).fields(writer);
  return out;
}

// The settings of `common`, the keys of a link where there is one, and those of the operation where there is one.
Json written(const CommonSettings& common, const Share* share, const Layer* operation, const Standard& standard) {
  Share fresh;
  fresh.common.encoding.dtype = standard.dtype;
  fresh.common.init = standard.init, fresh.common.init_scale = standard.init_scale;
  Json out = common_settings(common, standard);
  drop_defaults(out, common_settings(fresh.common, standard));
  if (!reads_init_scale(common.init)) out.erase("init_scale");
  const auto add = [&](const Layer& from, const Layer& defaults) {
    Json settings = own_settings(from, standard);
    drop_defaults(settings, own_settings(defaults, standard));
    out.update(settings);
  };
  if (share != nullptr) {
    out["is_remote_link"] = true;
    add(*share, fresh);
  }
  if (operation == nullptr) return out;
  add(*operation, *operation->kind_row().make());
  out["type"] = std::string(operation->kind());
  return out;
}

Json written(const Layer& layer, const Standard& standard) {
  const Share* const share = layer_as<Share>(layer);
  return written(layer.common, share, share == nullptr ? &layer : nullptr, standard);
}

}  // namespace

Json layer_to_json(const Layer& layer, DType default_dtype) { return written(layer, {default_dtype, "", 0}); }

Json network_to_json(const Network& n) {
  const NetworkSettings& s = n.settings;
  Json out = Json::object();
  out["id"] = s.id;
  if (!s.name.empty()) out["name"] = s.name;
  out["depth"] = n.size().depth, out["rows"] = n.size().rows, out["cols"] = n.size().cols,
  out["layers_per_cell"] = n.size().layers_per_cell;
  if (s.seed != 0) out["seed"] = s.seed;
  if (s.init != "auto") out["init"] = s.init;
  if (s.init_scale != 0 && any_reads_init_scale(n)) out["init_scale"] = s.init_scale;
  if (s.activations == Element::f64) out["activations"] = "float64";
  if (s.quantized_inputs == Activations::int16) out["quantized_inputs"] = "int16";
  if (s.input_shape)
    out["input_shape"] = std::vector<std::size_t>(s.input_shape->extents().begin(), s.input_shape->extents().end());
  if (s.default_dtype != DType::float32) out["default_dtype"] = std::string(name(s.default_dtype));
  if (!s.metadata.is_null()) out["metadata"] = s.metadata;
  Json layers = Json::array();
  for (std::size_t i = 0; i < n.num_cells(); ++i) {
    const Cell& cell = n.cell(i);
    if (cell.is_empty()) continue;
    Json layer = written(cell.settings(), cell.link ? &cell.link->share : nullptr, cell.layer.get(),
                         {s.default_dtype, s.init, s.init_scale});
    const Address a = n.address_of(i);
    layer["z"] = a.z, layer["y"] = a.y, layer["x"] = a.x, layer["l"] = a.l;
    layers.push_back(std::move(layer));
  }
  out["layers"] = std::move(layers);
  return out;
}

namespace {

// The schema of one layer kind.
class LayerSchema final : public FieldVisitor, public SchemaWriter {
 public:
  explicit LayerSchema(Json& properties) : SchemaWriter(properties) {}
  using SchemaWriter::operator();
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

void write_common(Json& properties, Layer& layer) {
  LayerSchema writer(properties);
  visit_common(writer, layer.common);
  properties["group_size"] = {{"enum", kGroupSizes}, {"default", ScaleSpan().group_size}};
  layer.fields(writer);
}

}  // namespace

Json spec_schema() {
  Json kinds = Json::array();
  for (const LayerKind* kind : layer_kinds()) {
    Json properties = Json::object();
    Json names = Json::array({std::string(kind->name)});
    for (const std::string_view alias : split_names(kind->aliases)) names.push_back(std::string(alias));
    properties["type"] = {{"enum", names}};
    for (const char* key : {"z", "y", "x", "l"})
      properties[key] = {{"type", "integer"}, {"minimum", 0}, {"maximum", 65535}};
    const LayerPtr layer = kind->make();
    write_common(properties, *layer);
    properties["is_remote_link"] = {{"type", "boolean"}};
    LayerSchema link_writer(properties);
    Share().fields(link_writer);
    properties["weights"] = {{"type", "object"}};
    for (const std::string_view hint : kHintKeys) properties[std::string(hint)] = Json::object();
    kinds.push_back({{"title", std::string(kind->name)},
                     {"type", "object"},
                     {"properties", properties},
                     {"required", {"type"}},
                     {"additionalProperties", false}});
  }
  {
    Json properties = {{"is_remote_link", {{"const", true}}}, {"type", false}};
    for (const char* key : {"z", "y", "x", "l"})
      properties[key] = {{"type", "integer"}, {"minimum", 0}, {"maximum", 65535}};
    Share link;
    write_common(properties, link);
    kinds.push_back(
        {{"title", "link"}, {"type", "object"}, {"properties", properties}, {"required", {"is_remote_link"}}});
  }
  const Json extent = {{"type", "integer"}, {"minimum", 1}, {"maximum", 65536}};
  Json properties = {{"depth", extent},
                     {"rows", extent},
                     {"cols", extent},
                     {"layers_per_cell", extent},
                     {"seed", {{"type", Json::array({"integer", "string"})}}},
                     {"input_shape", {{"type", "array"}, {"items", {{"type", "integer"}, {"minimum", 1}}}}},
                     {"numerics_version", {{"const", kNumericsVersion}}},
                     {"strict", {{"type", "boolean"}, {"default", true}}},
                     {"metadata", {{"type", "object"}}},
                     {"layers", {{"type", "array"}, {"items", {{"$ref", "#/$defs/layer"}}}}}};
  LayerSchema writer(properties);
  NetworkSettings settings;
  visit_settings(writer, settings);
  properties["init"]["enum"] = {"auto", "uniform", "he", "xavier", "normal", "zeros", "identity", "none"};
  for (const std::string_view hint : kNetworkHintKeys) properties[std::string(hint)] = Json::object();
  return {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
          {"title", "Loom network"},
          {"type", "object"},
          {"properties", properties},
          {"required", Json::array({"layers"})},  // without extents the layers stand one behind the other
          {"additionalProperties", false},
          {"$defs", {{"layer", {{"oneOf", kinds}}}}}};
}

}  // namespace loom
