#include "core/config_writer.h"
#include "layers/all.h"
#include "network/spec/spec.h"
#include "network/spec/spec_fields.h"

namespace loom {
namespace {

// Defaults of the network for layers that give no value.
struct Standard {
  DType dtype = DType::float32;
  std::string init;
  double init_scale = 0;
  bool for_reading = false;  // a printed spec
};

// The name of a width in a printed spec: the last of its aliases, which other frameworks have ("in_features"). A key
// without aliases, as the height of an image, and keys of other settings keep their names.
Key printed_key(Key key) {
  if (key.first() != "input_height" && key.first() != "output_height") return key;
  return {key.names.substr(key.names.rfind('|') + 1), key.help};
}

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

 protected:
  void whole(Key key, std::uint64_t& value, SizeRange) override {
    put(standard_.for_reading ? printed_key(key) : key, value);
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
  add(*operation, *operation->kind_row().fresh());
  out["type"] = std::string(operation->kind());
  return out;
}

Json written(const Layer& layer, const Standard& standard) {
  const Share* const share = layer_as<Share>(layer);
  return written(layer.common, share, share == nullptr ? &layer : nullptr, standard);
}

Json written(const Network& n, bool for_reading) {
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
  if (s.metadata != nullptr) out["metadata"] = *s.metadata;
  Json layers = Json::array();
  for (std::size_t i = 0; i < n.num_cells(); ++i) {
    const Cell& cell = n.cell(i);
    if (cell.is_empty()) continue;
    Json layer = written(cell.settings(), cell.link ? &cell.link->share : nullptr, cell.layer.get(),
                         {s.default_dtype, s.init, s.init_scale, for_reading});
    const Address a = n.address_of(i);
    layer["z"] = a.z, layer["y"] = a.y, layer["x"] = a.x, layer["l"] = a.l;
    layers.push_back(std::move(layer));
  }
  out["layers"] = std::move(layers);
  return out;
}

}  // namespace

Json layer_to_json(const Layer& layer, DType default_dtype) { return written(layer, {default_dtype, "", 0}); }
Json network_to_json(const Network& network) { return written(network, false); }
Json printed_spec(const Network& network) { return written(network, true); }
Json printed_spec(const Layer& layer) { return written(layer, {DType::float32, "", 0, true}); }

}  // namespace loom
