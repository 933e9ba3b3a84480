// Kinds that look at each row or element: dense, swiglu, embeddings, norms, activation, shapes, kmeans.

#include <array>
#include <numeric>

#include "io/onnx_writer/emitter.h"

namespace loom::onnx_out {

Result<Value> emit_dense(Emitter& emit, const Part& part, const Value& x) {
  LOOM_TRY(const Value y, emit.linear(part.path, x, weight_of(part, "weight"), optional_weight(part, "bias")));
  return emit.activation(part.path, part.settings.activation(), y);
}

Result<Value> emit_swiglu(Emitter& emit, const Part& part, const Value& x) {
  const auto linear = [&](const Value& from, const std::string& name) {
    return emit.linear(part.path, from, weight_of(part, name + ".weight"), optional_weight(part, name + ".bias"));
  };
  LOOM_TRY(Value gate, linear(x, "gate"));
  LOOM_TRY(const Value up, linear(x, "up"));
  gate = emit.activation(part.path, part.settings.activation(), gate);
  Value hidden = emit.op(part.path, "Mul", gate, {gate.name, up.name});
  if (const Weight* gain = optional_weight(part, "inner_norm")) {
    LOOM_TRY(const std::string name, emit.weight(*gain));
    hidden = emit.rms(part.path, hidden, part.settings.number("rms_norm_eps"));
    hidden = emit.op(part.path, "Mul", hidden, {hidden.name, name});
  }
  return linear(hidden, "down");
}

Result<Value> emit_embedding(Emitter& emit, const Part& part, const Value& x) {
  const Weight& table = weight_of(part, "table");
  for (const Adapter& adapter : table.adapters())
    if (adapter.enabled) return unsupported(part.path, "adapters of an embedding; merge them first");
  LOOM_TRY(const std::string name, emit.weight(table));
  LOOM_TRY(const Shape shape, x.shape.appended(part.settings.size("embedding_dim")));
  Value ids = x;
  if (!ids.is_whole) ids = emit.op(part.path, "Cast", x, {x.name}, {{"to", std::int64_t{7}}});
  const bool zero = part.settings.text("oob") == "zero";
  std::string inside;
  if (zero) {
    const auto limit = static_cast<std::int64_t>(part.settings.size("vocab_size"));
    const std::string none = emit.graph.ints({0});
    const std::string from = emit.graph.node(part.path, "GreaterOrEqual", {ids.name, none});
    const std::string to = emit.graph.node(part.path, "Less", {ids.name, emit.graph.ints({limit})});
    inside = emit.graph.node(part.path, "And", {from, to});
    if (!x.is_whole) {  // a number that is not whole is no row either
      const std::string floor = emit.graph.node(part.path, "Floor", {x.name});
      const std::string is_whole = emit.graph.node(part.path, "Equal", {x.name, floor});
      inside = emit.graph.node(part.path, "And", {inside, is_whole});
    }
    ids = emit.op(part.path, "Where", ids, {inside, ids.name, none});
  }
  Value y = emit.op(part.path, "Gather", shape, {name, ids.name});
  if (zero) {
    const std::string counts = emit.graph.node(part.path, "Cast", {inside}, {{"to", std::int64_t{1}}});
    const std::string wide = emit.graph.node(part.path, "Unsqueeze", {counts, emit.graph.ints({-1})});
    y = emit.op(part.path, "Mul", y, {y.name, wide});
  }
  if (const double scale = part.settings.number("embed_scale"); scale != 1)
    y = emit.with(part.path, "Mul", y, static_cast<float>(scale));
  return emit.activation(part.path, part.settings.activation(), y);
}

Result<Value> emit_position_embedding(Emitter& emit, const Part& part, const Value& x) {
  LOOM_TRY(const std::string table, emit.weight(weight_of(part, "table")));
  const auto steps = static_cast<std::int64_t>(x.shape[x.shape.rank() - 2]);
  if (x.shape.rank() < 3) return unsupported(part.path, "position_embedding takes the batch for steps");
  const std::string rows = emit.graph.node(
      part.path, "Slice", {table, emit.graph.ints({0}), emit.graph.ints({steps}), emit.graph.ints({0})});
  return emit.op(part.path, "Add", x, {x.name, rows});
}

Result<Value> emit_activation(Emitter& emit, const Part& part, const Value& x) {
  return emit.activation(part.path, part.settings.activation(), x);
}

Result<Value> emit_dropout(Emitter&, const Part&, const Value& x) { return x; }  // as outside of training

Result<Value> emit_reshape(Emitter& emit, const Part& part, const Value& x) {
  LOOM_TRY(const Shape shape, part.layer.output_shape(x.shape));
  return emit.reshape(part.path, x, shape);
}

Result<Value> emit_permute(Emitter& emit, const Part& part, const Value& x) {
  const std::vector<std::size_t> axes = part.settings.sizes("axes");
  if (axes.empty() || axes[0] != 0) return unsupported(part.path, "permute moves the axis of the batch");
  return emit.transpose(part.path, x, {axes.begin(), axes.end()});
}

Result<Value> emit_kmeans(Emitter& emit, const Part& part, const Value& x) {
  const Weight& table = weight_of(part, "centers");
  for (const Adapter& adapter : table.adapters())
    if (adapter.enabled) return unsupported(part.path, "adapters of kmeans; merge them first");
  LOOM_TRY(const std::string centers, emit.weight(table));
  const std::size_t clusters = part.settings.size("num_clusters"), rank = x.shape.rank();
  std::vector<std::size_t> extents(x.shape.extents().begin(), x.shape.extents().end());
  extents.insert(extents.end() - 1, 1);
  LOOM_TRY(Shape wide, Shape::create(extents));
  const Value row = emit.op(part.path, "Unsqueeze", wide, {x.name, emit.graph.ints({-2})});
  wide = with_extent(wide, rank - 1, clusters);
  const Value gap = emit.op(part.path, "Sub", wide, {row.name, centers});
  const Value square = emit.op(part.path, "Mul", gap, {gap.name, gap.name});
  Value scores = emit.op(part.path, "ReduceSum", with_extent(x.shape, rank - 1, clusters),
                         {square.name, emit.graph.ints({-1})}, {{"keepdims", std::int64_t{0}}});
  const double t = part.settings.number("kmeans_temperature");
  scores = emit.with(part.path, "Mul", scores, static_cast<float>(-1 / (2 * t * t)));
  Value y = emit.op(part.path, "Softmax", scores, {scores.name}, {{"axis", std::int64_t{-1}}});
  if (part.settings.text("output_mode") == "features") y = emit.op(part.path, "MatMul", x, {y.name, centers});
  return emit.activation(part.path, part.settings.activation(), y);
}

Result<Value> emit_rmsnorm(Emitter& emit, const Part& part, const Value& x) {
  LOOM_TRY(std::string gain, emit.weight(weight_of(part, "gamma")));
  const Value y = emit.rms(part.path, x, part.settings.number("rms_norm_eps"));
  if (const double offset = part.settings.number("weight_offset"); offset != 0)
    gain = emit.graph.node(part.path, "Add", {gain, emit.graph.scalar(static_cast<float>(offset))});
  return emit.op(part.path, "Mul", x, {y.name, gain});
}

Result<Value> emit_layernorm(Emitter& emit, const Part& part, const Value& x) {
  LOOM_TRY(const std::string gamma, emit.weight(weight_of(part, "gamma")));
  std::vector<std::string> inputs{x.name, gamma};
  if (const Weight* beta = optional_weight(part, "beta")) {
    LOOM_TRY(inputs.emplace_back(), emit.weight(*beta));
  }
  return emit.op(part.path, "LayerNormalization", x, inputs,
                 {{"axis", std::int64_t{-1}}, {"epsilon", static_cast<float>(part.settings.number("eps"))}});
}

Result<Value> emit_batchnorm(Emitter& emit, const Part& part, const Value& x) {
  std::vector<std::string> inputs{x.name};
  for (const char* name : {"gamma", "beta", "running_mean", "running_var"}) {
    LOOM_TRY(inputs.emplace_back(), emit.weight(weight_of(part, name)));
  }
  return emit.op(part.path, "BatchNormalization", x, inputs,
                 {{"epsilon", static_cast<float>(part.settings.number("eps"))}});
}

namespace {

// InstanceNormalization with a gain of 1 and no shift.
Value normalised(Emitter& emit, const Part& part, const Value& x) {
  const std::size_t channels = x.shape[1];
  const std::vector<float> ones(channels, 1.0f), none(channels, 0.0f);
  const std::string gain = emit.graph.floats(fmt::format("constant/ones[{}]", channels), {{channels}}, ones);
  const std::string shift = emit.graph.floats(fmt::format("constant/zeros[{}]", channels), {{channels}}, none);
  return emit.op(part.path, "InstanceNormalization", x, {x.name, gain, shift},
                 {{"epsilon", static_cast<float>(part.settings.number("eps"))}});
}

}  // namespace

Result<Value> emit_groupnorm(Emitter& emit, const Part& part, const Value& x) {
  const std::size_t groups = part.settings.size("num_groups");
  LOOM_TRY(const Shape grouped, Shape::create(std::array{x.shape[0], groups, x.shape.elements() / groups}));
  const Value y = emit.reshape(part.path, normalised(emit, part, emit.reshape(part.path, x, grouped)), x.shape);
  // Gain and shift vary along axis 1.
  std::vector<std::int64_t> behind(x.shape.rank() - 2);
  std::iota(behind.begin(), behind.end(), 1);
  const auto along = [&](const char* name) -> Result<std::string> {
    LOOM_TRY(std::string weight, emit.weight(weight_of(part, name)));
    if (behind.empty()) return weight;
    return emit.graph.node(part.path, "Unsqueeze", {weight, emit.graph.ints(behind)});
  };
  LOOM_TRY(const std::string gamma, along("gamma"));
  LOOM_TRY(const std::string beta, along("beta"));
  const Value scaled = emit.op(part.path, "Mul", x, {y.name, gamma});
  return emit.op(part.path, "Add", x, {scaled.name, beta});
}

Result<Value> emit_instancenorm(Emitter& emit, const Part& part, const Value& x) {
  if (!part.settings.flag("affine")) return normalised(emit, part, x);
  LOOM_TRY(const std::string gamma, emit.weight(weight_of(part, "gamma")));
  LOOM_TRY(const std::string beta, emit.weight(weight_of(part, "beta")));
  return emit.op(part.path, "InstanceNormalization", x, {x.name, gamma, beta},
                 {{"epsilon", static_cast<float>(part.settings.number("eps"))}});
}

}  // namespace loom::onnx_out
