#pragma once
// Helpers that the kinds share while a network becomes ONNX nodes: values with their shapes, weights as initialisers,
// products and activations.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/json.h"
#include "io/onnx_writer/graph_writer.h"
#include "io/onnx_writer/onnx_export.h"
#include "layers/layer.h"
#include "network/network.h"

namespace loom::onnx_out {

// A tensor of the graph: its name, and its shape for a batch of one sample.
struct Value {
  std::string name;
  Shape shape;
  bool is_whole = false;  // int64: ids
};

// The settings of a layer by their keys, defaults included.
class Settings {
 public:
  explicit Settings(Layer& layer);
  std::size_t size(const char* key) const;
  double number(const char* key) const;
  bool flag(const char* key) const;
  std::string text(const char* key) const;
  std::vector<std::size_t> sizes(const char* key) const;  // of one number: a list of one
  std::vector<bool> flags(const char* key) const;
  Settings object(const char* key) const;
  // One number for each of so many axes.
  std::vector<std::int64_t> axes(const char* key, std::size_t count, std::int64_t fallback) const;
  ActivationFn activation() const;

 private:
  explicit Settings(Json values) : values_(std::move(values)) {}
  Json values_;
};

class Emitter;
// A layer on its way into the graph.
struct Part {
  std::string path;
  Layer& layer;
  Settings settings;
};
using EmitKind = Result<Value> (*)(Emitter& emit, const Part& part, const Value& x);

class Emitter {
 public:
  Emitter(const Network& network, const Wiring& wiring, const OnnxExportOptions& options);
  const Wiring* wiring() const { return &wiring_; }

  GraphWriter graph;

  // The nodes of a layer, containers with all that is in them. Unsupported, ShapeMismatch.
  Result<Value> layer(const std::string& path, Layer& layer, const Value& x);
  // The nodes of all cells of the grid.
  Result<Value> cells(const Value& input);
  const Value& output_of(std::size_t cell) const { return outputs_[cell]; }
  Result<std::size_t> cell_at(const std::array<std::size_t, 4>& address) const;

  // Unsupported for a matrix whose products round what they meet; NoValue.
  Result<void> check_matrix(const Weight& weight) const;
  // The initialiser of a weight, by the values that it stands for. NoValue.
  Result<std::string> weight(const Weight& weight);
  std::vector<float> values_of(const Weight& weight) const;
  // A name that all uses of this weight share.
  std::string name_of(const Weight& weight) const;

  // One node whose output has the shape of `like`, or another one.
  Value op(const std::string& path, const char* name, const Value& like, const std::vector<std::string>& inputs,
           const Attributes& attributes = {});
  Value op(const std::string& path, const char* name, const Shape& shape, const std::vector<std::string>& inputs,
           const Attributes& attributes = {});
  Value with(const std::string& path, const char* name, const Value& x, float number) {
    return op(path, name, x, {x.name, graph.scalar(number)});
  }
  // The first axis stays; the others may change.
  Value reshape(const std::string& path, const Value& x, const Shape& shape);
  Result<Value> transpose(const std::string& path, const Value& x, const std::vector<std::int64_t>& order);
  // Elements [begin, end) of an axis that is not the first.
  Result<Value> slice(const std::string& path, const Value& x, std::size_t axis, std::size_t begin, std::size_t end);
  Value zeros(const std::string& path, const Value& batch, const Shape& shape);
  Value as_float(const std::string& path, const Value& x);
  // y = x W^T + b and what the adapters of W add. `bias` may be undeclared or null.
  Result<Value> linear(const std::string& path, const Value& x, const Weight& weight, const Weight* bias);
  Value activation(const std::string& path, const ActivationFn& fn, const Value& x);
  // x / sqrt(mean of x^2 + eps), not yet times a gain.
  Value rms(const std::string& path, const Value& x, double eps);

 private:
  Result<Value> cell(std::size_t index, const Value& before);

  const Network& network_;
  const Wiring& wiring_;
  const OnnxExportOptions& options_;
  std::map<const void*, std::string> weight_paths_;  // by Weight::identity()
  std::vector<Value> outputs_;                       // of the cells so far
};

// The weight of that name; asserts that it exists.
const Weight& weight_of(const Part& part, std::string_view name);
// The weight of that name, or null.
const Weight* optional_weight(const Part& part, std::string_view name);
// The child at that path below the layer.
Layer* child_of(const Part& part, std::string_view path);
// The shape with another extent on one axis.
Shape with_extent(const Shape& shape, std::size_t axis, std::size_t extent);
// The error of a kind that ONNX cannot express, with its place.
tl::unexpected<Error> unsupported(const std::string& path, const std::string& why);

Result<Value> emit_dense(Emitter& emit, const Part& part, const Value& x);
Result<Value> emit_swiglu(Emitter& emit, const Part& part, const Value& x);
Result<Value> emit_embedding(Emitter& emit, const Part& part, const Value& x);
Result<Value> emit_position_embedding(Emitter& emit, const Part& part, const Value& x);
Result<Value> emit_activation(Emitter& emit, const Part& part, const Value& x);
Result<Value> emit_dropout(Emitter& emit, const Part& part, const Value& x);
Result<Value> emit_reshape(Emitter& emit, const Part& part, const Value& x);
Result<Value> emit_permute(Emitter& emit, const Part& part, const Value& x);
Result<Value> emit_kmeans(Emitter& emit, const Part& part, const Value& x);
Result<Value> emit_rmsnorm(Emitter& emit, const Part& part, const Value& x);
Result<Value> emit_layernorm(Emitter& emit, const Part& part, const Value& x);
Result<Value> emit_batchnorm(Emitter& emit, const Part& part, const Value& x);
Result<Value> emit_groupnorm(Emitter& emit, const Part& part, const Value& x);
Result<Value> emit_instancenorm(Emitter& emit, const Part& part, const Value& x);
Result<Value> emit_mha(Emitter& emit, const Part& part, const Value& x);
Result<Value> emit_conv(Emitter& emit, const Part& part, const Value& x);
Result<Value> emit_pool(Emitter& emit, const Part& part, const Value& x);
Result<Value> emit_recurrent(Emitter& emit, const Part& part, const Value& x);
Result<Value> emit_s6(Emitter& emit, const Part& part, const Value& x);
Result<Value> emit_softmax(Emitter& emit, const Part& part, const Value& x);
Result<Value> emit_sequential(Emitter& emit, const Part& part, const Value& x);
Result<Value> emit_residual(Emitter& emit, const Part& part, const Value& x);
Result<Value> emit_parallel(Emitter& emit, const Part& part, const Value& x);
Result<Value> emit_lora(Emitter& emit, const Part& part, const Value& x);
Result<Value> emit_metacognition(Emitter& emit, const Part& part, const Value& x);
Result<Value> emit_share(Emitter& emit, const Part& part, const Value& x);

}  // namespace loom::onnx_out
