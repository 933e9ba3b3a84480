#include "io/onnx_writer/onnx_export.h"

#include <array>

#include "core/numerics_version.h"
#include "io/onnx_writer/emitter.h"
#include "layers/embedding/embedding.h"
#include "layers/share/share.h"
#include "network/plan/forward_plan.h"

namespace loom {
namespace onnx_out {
namespace {

struct KindRow {
  std::string_view name;
  EmitKind emit;
  bool takes_ids = false;  // whole numbers reach it as they are
};

constexpr KindRow kRows[] = {
    {"dense", emit_dense},
    {"mha", emit_mha},
    {"swiglu", emit_swiglu},
    {"rmsnorm", emit_rmsnorm},
    {"cnn1", emit_conv},
    {"cnn2", emit_conv},
    {"cnn3", emit_conv},
    {"rnn", emit_recurrent},
    {"lstm", emit_recurrent},
    {"gru", emit_recurrent},
    {"layernorm", emit_layernorm},
    {"convtransposed1", emit_conv},
    {"convtransposed2", emit_conv},
    {"convtransposed3", emit_conv},
    {"embedding", emit_embedding, true},
    {"kmeans", emit_kmeans},
    {"softmax", emit_softmax},
    {"parallel", emit_parallel, true},
    {"sequential", emit_sequential, true},
    {"residual", emit_residual, true},
    {"metacognition", emit_metacognition, true},
    {"maxpool", emit_pool},
    {"avgpool", emit_pool},
    {"dropout", emit_dropout, true},
    {"lora", emit_lora, true},
    {"batchnorm", emit_batchnorm},
    {"groupnorm", emit_groupnorm},
    {"reshape", emit_reshape, true},
    {"activation", emit_activation},
    {"position_embedding", emit_position_embedding},
    {"permute", emit_permute, true},
    {"instancenorm", emit_instancenorm},
    {"s6", emit_s6},
    {"link", emit_share, true},
};

const KindRow* row_of(std::string_view kind) {
  for (const KindRow& row : kRows)
    if (row.name == kind) return &row;
  return nullptr;
}

// Whether all that reads the input of this layer looks it up in a table.
bool reads_ids(const Wiring& wiring, Layer& layer) {
  if (layer_as<Embedding>(layer) != nullptr) return true;
  if (const Share* share = layer_as<Share>(layer)) {
    Layer* const target = share->target_in(&wiring);
    return target != nullptr && reads_ids(wiring, *target);
  }
  if (layer.kind() != "sequential" || Settings(layer).flag("residual")) return false;
  Layer* first = nullptr;
  layer.visit_children([&](const std::string&, Layer& child) {
    if (first == nullptr && !child.common.is_disabled) first = &child;
  });
  return first != nullptr && reads_ids(wiring, *first);
}

bool reads_ids(const Wiring& wiring, const Network& network) {
  for (std::size_t i = 0; i < network.num_cells(); ++i)
    if (const Cell& cell = network.cell(i); cell.runs())
      return !cell.is_fed() && cell.operation() != nullptr && reads_ids(wiring, *cell.operation());
  return false;
}

std::vector<std::int64_t> dims_of(const Shape& shape) {
  std::vector<std::int64_t> dims{-1};
  for (std::size_t a = 1; a < shape.rank(); ++a) dims.push_back(static_cast<std::int64_t>(shape[a]));
  return dims;
}

}  // namespace

Result<Value> Emitter::layer(const std::string& path, Layer& layer, const Value& x) {
  const KindRow* row = row_of(layer.kind());
  if (row == nullptr) return unsupported(path, fmt::format("ONNX files hold no {}", layer.kind()));
  auto y = row->emit(*this, {path, layer, Settings(layer)}, row->takes_ids ? x : as_float(path, x));
  if (!y || row->name == "link") return y;
  LOOM_TRY(const Shape wanted, layer.wired_shape(wiring(), x.shape));
  LOOM_ASSERT(wanted == y->shape);
  return y;
}

}  // namespace onnx_out

Result<OnnxModelText> network_to_onnx(const Network& network, const OnnxExportOptions& options) {
  const std::optional<Shape> sample = options.input_shape ? options.input_shape : network.settings.input_shape;
  if (!sample)
    return fail(Code::InvalidArgument,
                "the network names no input_shape, which the graph needs: --input-shape 3,224,224 gives it");
  if (network.settings.activations == Element::f64)
    return fail(Code::Unsupported, "activations float64: ONNX runtimes lack some operators in double");
  OnnxModelText result;
  result.input = Network::with_batch(*sample, 1);
  LOOM_TRY(const auto plan, ForwardPlan::create(network, result.input));
  onnx_out::Emitter emit(network, plan->wiring(), options);
  result.takes_ids = onnx_out::reads_ids(plan->wiring(), network);
  using onnx_out::TensorType;
  emit.graph.input("input", result.takes_ids ? TensorType::Int64 : TensorType::Float, onnx_out::dims_of(result.input));
  LOOM_TRY(onnx_out::Value y, emit.cells({"input", result.input, result.takes_ids}));
  y = emit.as_float("output", y);
  const std::string name = emit.graph.node("output", "Identity", {y.name});
  emit.graph.output(name, TensorType::Float, onnx_out::dims_of(y.shape));
  result.output = y.shape, result.nodes = emit.graph.num_nodes();
  LOOM_TRY(result.bytes,
           emit.graph.model(network.settings.id, {{"loom.numerics_version", std::to_string(kNumericsVersion)}}));
  return result;
}

}  // namespace loom
