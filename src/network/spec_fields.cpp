#include "network/spec_fields.h"

#include "core/nearest.h"

namespace loom {

void visit_dtype(FieldVisitor& visit, std::string_view key, DType& dtype) {
  visit.choice(key, dtype,
               {"float64|fp64|f64|double", "float32|fp32|f32|float", "float16|fp16|f16|half", "bfloat16|bf16", "fp8e4m3|fp8|f8e4m3|float8e4m3fn",
                "fp8e5m2|f8e5m2|float8e5m2", "int64|i64", "int32|i32", "int16|i16", "int8|i8", "uint64|u64", "uint32|u32", "uint16|u16", "uint8|u8",
                "int4|i4", "uint4|u4", "fp4|f4|fp4e2m1|e2m1|float4e2m1fn", "int2|i2", "uint2|u2", "ternary|t1.58", "binary|b1", "q4_0", "q4_1", "q5_0",
                "q5_1", "q8_0", "q2_k", "q3_k", "q4_k", "q5_k", "q6_k", "tq1_0", "tq2_0", "mxfp4"});
}

void visit_common(FieldVisitor& visit, CommonSettings& c) {
  visit("name", c.name);
  visit("is_disabled", c.is_disabled);
  visit("trainable", c.trainable);
  visit("learning_rate_scale", c.learning_rate_scale);
  visit_dtype(visit, "dtype", c.encoding.dtype);
  visit.choice("scale_granularity", c.encoding.span.granularity, {"auto", "tensor", "row", "group"});
  visit("group_size", c.encoding.span.group_size, {32, 128});
  visit.choice("activation_quant", c.encoding.activation_quant, {"auto", "none"});
  visit("init", c.init);
  visit("init_scale", c.init_scale);
  visit("scatter_to", c.scatter_to);
}

void read_weights(Layer& layer, const Json& weights, const std::function<void(Code, const std::string&)>& complain) {
  if (!weights.is_object()) return complain(Code::InvalidConfig, "an object of lists expected");
  for (const auto& [name, list] : weights.items()) {
    Weight* weight = find_weight(layer, name);
    if (weight == nullptr) return complain(Code::UnknownName, fmt::format("{} has no weight \"{}\"", layer.kind(), printable(name)));
    std::vector<double> values;
    for (const Json& item : list) {
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
