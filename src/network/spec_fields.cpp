#include "network/spec_fields.h"

#include <algorithm>
#include <utility>

#include "core/base64.h"
#include "core/nearest.h"
#include "dtypes/packing.h"
#include "network/spec.h"

namespace loom {

void visit_dtype(FieldVisitor& visit, std::string_view key, DType& dtype) {
  [&]<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
    visit.choice(key, dtype, {kDTypes[kIndex].names...});
  }(std::make_index_sequence<kNumDTypes>{});
}

void visit_common(FieldVisitor& visit, CommonSettings& c) {
  visit("name", c.name);
  visit("is_disabled", c.is_disabled);
  visit("trainable", c.trainable);
  visit("learning_rate_scale", c.learning_rate_scale);
  visit_dtype(visit, "dtype", c.encoding.dtype);
  visit.choice("scale_granularity", c.encoding.span.granularity, {"auto", "tensor", "row", "group"});
  visit("group_size", c.encoding.span.group_size, {32, 128});
  visit.choice("activation_quant", c.encoding.activation_quant, {"auto", "row", "group", "none"});
  visit("init", c.init);
  visit("init_scale", c.init_scale);
  visit("scatter_to", c.scatter_to);
  visit.objects("adapters", c.adapters);
  visit("freeze_base", c.freeze_base);
}

bool any_reads_init_scale(const Network& network) {
  bool any = reads_init_scale(network.settings.init);
  network.each_layer([&](std::size_t, const std::string&, Layer& layer) { any = any || reads_init_scale(layer.common.init); });
  return any;
}

namespace {

constexpr std::array<std::string_view, 4> kGranularities = {"auto", "tensor", "row", "group"};

Result<std::vector<std::byte>> bytes_of(const Json& weight, std::string_view key) {
  const Json* given = find(weight, key);
  if (given == nullptr) return std::vector<std::byte>{};
  const std::string* text = as_string(*given);
  if (text == nullptr) return fail(Code::CorruptData, "{}: a Base64 text expected", key);
  auto bytes = base64_decode(*text);
  if (!bytes) return at(std::string(key), std::move(bytes).error());
  return bytes;
}

// {"dtype", "codes"...} as weight_to_json() wrote it.
Result<void> restore_weight(Weight& w, const Json& json, const Encoding& encoding) {
  const Json* type = find(json, "dtype");
  const std::string* type_name = type == nullptr ? nullptr : as_string(*type);
  if (type_name == nullptr) return fail(Code::CorruptData, "dtype is missing");
  LOOM_TRY(const DType dtype, dtype_from_name(*type_name));
  ScaleSpan span = resolved(dtype, {});
  if (const Json* given = find(json, "scale_granularity")) {
    const std::string* text = as_string(*given);
    const auto found = std::ranges::find(kGranularities, text == nullptr ? std::string_view{} : std::string_view(*text));
    if (found == kGranularities.end()) return fail(Code::UnknownName, "scale_granularity is none of tensor, row, group");
    span.granularity = static_cast<Granularity>(found - kGranularities.begin());
  }
  if (const Json* given = find(json, "group_size")) span.group_size = static_cast<std::size_t>(std::max<std::int64_t>(0, as_int(*given).value_or(0)));
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

void read_weights(Layer& layer, const Json& weights, const std::function<void(Code, const std::string&)>& complain) {
  if (!weights.is_object()) return complain(Code::InvalidConfig, "an object of weights expected");
  for (const auto& [name, json] : weights.items()) {
    Weight* weight = find_weight(layer, name);
    if (weight == nullptr) return complain(Code::UnknownName, fmt::format("{} has no weight \"{}\"", layer.kind(), printable(name)));
    if (weight->is_tied()) return complain(Code::InvalidConfig, fmt::format("{} is tied to a table; its values stand there", weight->name()));
    if (json.is_object()) {
      if (const auto done = restore_weight(*weight, json, layer.common.encoding); !done)
        return complain(done.error().code, weight->name() + ": " + done.error().message);
      continue;
    }
    std::vector<double> values;
    for (const Json& item : json) {
      const auto v = as_number(item);
      if (!v) return complain(Code::InvalidConfig, fmt::format("{}: a list of finite numbers expected", weight->name()));
      values.push_back(*v);
    }
    auto set = weight->morph(layer.common.encoding);
    if (set) set = weight->set(std::span<const double>(values));
    if (!set) return complain(set.error().code, set.error().message);
  }
}

}  // namespace loom
