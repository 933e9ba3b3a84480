#include "network/spec_fields.h"

#include <algorithm>
#include <utility>

#include "core/base64.h"
#include "core/config_reader.h"
#include "core/nearest.h"
#include "dtypes/packing.h"
#include "network/spec.h"

namespace loom {

void visit_dtype(ConfigVisitor& visit, Key key, DType& dtype) {
  [&]<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
    visit.choice(key, dtype, {kDTypes[kIndex].names...});
  }(std::make_index_sequence<kNumDTypes>{});
}

void visit_common(ConfigVisitor& visit, CommonSettings& c) {
  visit("name", c.name);
  visit("is_disabled", c.is_disabled);
  visit("trainable", c.trainable);
  visit("learning_rate_scale", c.learning_rate_scale);
  visit_dtype(visit, "dtype", c.encoding.dtype);
  visit.choice("scale_granularity", c.encoding.span.granularity, {"auto", "tensor", "row", "group"});
  visit("group_size", c.encoding.span.group_size, {32, 128});
  visit.choice("activation_quant", c.encoding.activation_quant, {"auto", "row", "group", "none"});
  visit("init", c.init);
  visit("init_scale", c.init_scale, {0, kMaxInitScale});
  visit("scatter_to", c.scatter_to);
  visit.objects("adapters", c.adapters);
  visit("freeze_base", c.freeze_base);
}

void visit_settings(ConfigVisitor& visit, NetworkSettings& s) {
  visit("id", s.id);
  visit("name", s.name);
  visit("init", s.init);
  visit("init_scale", s.init_scale, {0, kMaxInitScale});
  auto element = static_cast<std::size_t>(s.activations == Element::f64);
  visit.choice("activations", element, {"float32|f32", "float64|f64"});
  s.activations = element == 1 ? Element::f64 : Element::f32;
  visit.choice("quantized_inputs", s.quantized_inputs, {"int8", "int16"});
  visit_dtype(visit, "default_dtype", s.default_dtype);
}

bool any_reads_init_scale(const Network& network) {
  bool any = reads_init_scale(network.settings.init);
  network.each_layer(
      [&](std::size_t, const std::string&, Layer& layer) { any = any || reads_init_scale(layer.common.init); });
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
      return fail_at(place, Code::InvalidConfig, "{} is tied to a table; its values stand there", weight->name());
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
