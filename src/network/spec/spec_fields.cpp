#include "network/spec/spec_fields.h"

#include <algorithm>
#include <utility>

#include "core/base64.h"
#include "core/config_reader.h"
#include "core/json.h"
#include "core/nearest.h"
#include "dtypes/packing.h"
#include "network/spec/spec.h"

namespace loom {

void visit_dtype(ConfigVisitor& visit, Key key, DType& dtype) {
  [&]<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
    visit.choice(key, dtype, {kDTypes[kIndex].names...});
  }(std::make_index_sequence<kNumDTypes>{});
}

void visit_common(ConfigVisitor& visit, CommonSettings& c) {
  visit({"name", "A name for reports and pictures, without effect"}, c.name);
  visit({"is_disabled", "Does not run: the input passes through; links to the layer still run it"}, c.is_disabled);
  visit({"trainable", "Whether training moves its weights and those of layers inside it"}, c.trainable);
  visit({"learning_rate_scale", "Factor of the learning rate, for layers inside it too"}, c.learning_rate_scale,
        {0, 1e12});
  visit_dtype(visit, {"dtype", "Type of the weights (biases are f32); without it the network's `default_dtype`"},
              c.encoding.dtype);
  visit.choice(
      {"scale_granularity", "Weights that share a scale: tensor, row, group (of a row), auto (as the type has it)"},
      c.encoding.span.granularity, {"auto", "tensor", "row", "group"});
  visit({"group_size", "Columns of a group: 32, 64 or 128"}, c.encoding.span.group_size, {32, 128});
  visit.choice({"activation_quant",
                "Inputs that meet integers of up to 8 bits: int8 by row or group; none: floats; auto: by type"},
               c.encoding.activation_quant, {"auto", "row", "group", "none"});
  visit({"init", "Rule that draws its matrices; empty: the network's"}, c.init);
  visit({"init_scale", "For its init uniform or normal; 0: the network's"}, c.init_scale, {0, kMaxInitScale});
  visit({"scatter_to", "Branch of a grid_scatter: its place [z, y, x]; without it branch i has place i"}, c.scatter_to);
  visit.objects({"adapters", "A list: low-rank matrices, with which W x becomes W x + (alpha / rank) B (A x)"},
                c.adapters);
  visit({"freeze_base", "With adapters, and in a lora: training moves these alone"}, c.freeze_base);
}

void visit_settings(ConfigVisitor& visit, NetworkSettings& s) {
  visit({"id", "Name of the network in files and events"}, s.id);
  visit({"name", "Title of pictures; empty: the id"}, s.name);
  visit({"init", "Rule that draws matrices; auto: as kind and activation want it; none: zeros"}, s.init);
  visit({"init_scale", "uniform: half width, 0 is 0.1; normal: deviation, 0 is 0.02"}, s.init_scale,
        {0, kMaxInitScale});
  auto element = static_cast<std::size_t>(s.activations == Element::f64);
  visit.choice({"activations", "Type that layers compute in and hand on: float32 or float64"}, element,
               {"float32|f32", "float64|f64"});
  s.activations = element == 1 ? Element::f64 : Element::f32;
  visit.choice({"quantized_inputs", "Type that inputs of weights with group scales are rounded to: int8 or int16"},
               s.quantized_inputs, {"int8", "int16"});
  visit_dtype(visit, {"default_dtype", "Type of the weights of layers that name none"}, s.default_dtype);
}

bool draws_matrices(Layer& layer) {
  bool any = false;
  layer.visit_weights([&](Weight& weight) { any = any || weight.role() == WeightRole::Matrix; });
  return any;
}

bool any_reads_init_scale(const Network& network) {
  bool any = false;
  network.each_layer([&](std::size_t, const std::string&, Layer& layer) {
    any = any || (reads_init_scale(layer.common.init) && draws_matrices(layer));
  });
  return any;
}

namespace {

constexpr std::array<std::string_view, 4> kGranularities = {"auto", "tensor", "row", "group"};

Result<std::vector<std::byte>> bytes_of(const Json& weight, std::string_view key) {
  const Json* given = find(weight, key);
  if (given == nullptr) return std::vector<std::byte>{};
  const std::string* text = as_string(*given);
  if (text == nullptr)
    return fail_at({std::string(key)}, Code::CorruptData, "{}", expected("a string of Base64", *given));
  auto bytes = base64_decode(*text);
  if (!bytes) return under({std::string(key)}, std::move(bytes).error());
  return bytes;
}

// {"dtype", "codes"...} as weight_to_json() wrote it.
Result<void> restore_weight(Weight& w, const Json& json, const Encoding& encoding) {
  const Json* type = find(json, "dtype");
  const std::string* type_name = type == nullptr ? nullptr : as_string(*type);
  if (type_name == nullptr) return fail_at({"dtype"}, Code::CorruptData, "is missing");
  LOOM_TRY(const DType dtype, dtype_from_name(*type_name));
  ScaleSpan span = resolved(dtype, {});
  if (const Json* given = find(json, "scale_granularity")) {
    const std::string* text = as_string(*given);
    const auto found =
        std::ranges::find(kGranularities, text == nullptr ? std::string_view{} : std::string_view(*text));
    if (found == kGranularities.end())
      return fail(Code::UnknownName, "scale_granularity is none of tensor, row, group");
    span.granularity = static_cast<Granularity>(found - kGranularities.begin());
  }
  if (const Json* given = find(json, "group_size"))
    span.group_size = static_cast<std::size_t>(std::max<std::int64_t>(0, as_int(*given).value_or(0)));
  LOOM_TRY(const auto codes, bytes_of(json, "codes"));
  LOOM_TRY(const auto scales, bytes_of(json, "scales"));
  LOOM_TRY(const auto zeros, bytes_of(json, "zero_points"));
  LOOM_TRY(const QuantizedMatrix q, unpack(dtype, w.rows(), w.cols(), span, codes, scales, zeros));
  if (w.role() == WeightRole::Matrix && dtype != encoding.dtype)
    return fail(Code::CorruptData, "{} stored, the layer says {}", loom::name(dtype), loom::name(encoding.dtype));
  return w.restore(q, encoding);
}

}  // namespace

Result<Json> weight_to_json(const Weight& weight) {
  LOOM_TRY(const QuantizedMatrix q, weight.quantized());
  LOOM_TRY(const PackedMatrix packed, pack(q));
  Json out = {{"dtype", std::string(name(q.dtype))}, {"codes", base64_encode(packed.codes)}};
  if (!packed.scales.empty()) {
    out["scales"] = base64_encode(packed.scales);
    out["scale_granularity"] = std::string(kGranularities[static_cast<std::size_t>(q.span.granularity)]);
    if (q.span.granularity == Granularity::Group) out["group_size"] = q.span.group_size;
  }
  if (!packed.zeros.empty()) out["zero_points"] = base64_encode(packed.zeros);
  return out;
}

Result<void> read_weights(Layer& layer, const Json& weights) {
  if (!weights.is_object()) return fail(Code::InvalidConfig, "{}", expected("an object of weights", weights));
  for (const auto& [name, json] : weights.items()) {
    Weight* weight = find_weight(layer, name);
    const Steps place = {printable(name)};
    if (weight == nullptr)
      return fail_at(place, Code::UnknownName, "{} has no weight \"{}\"", layer.kind(), printable(name));
    if (weight->is_tied())
      return fail_at(place, Code::InvalidConfig, "{} is tied to a table, which holds its values", weight->name());
    if (json.is_object()) {
      if (auto done = restore_weight(*weight, json, layer.common.encoding); !done)
        return under(place, std::move(done).error());
      continue;
    }
    std::vector<double> values;
    for (const Json& item : json) {
      const auto v = as_number(item);
      if (!v) return fail_at(place, Code::InvalidConfig, "{}", expected("a list of finite numbers", json));
      values.push_back(*v);
    }
    auto set = weight->morph(layer.common.encoding);
    if (set) set = weight->set(std::span<const double>(values));
    if (!set) return set;
  }
  return {};
}

}  // namespace loom
