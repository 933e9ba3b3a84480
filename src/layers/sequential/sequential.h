#pragma once
// Children one after another; with `residual` the output is x + f(x). A decoder block is
// sequential[ sequential(residual)[rmsnorm, mha], sequential(residual)[rmsnorm, swiglu] ]; engine V-30. Disabled children are skipped.

#include "layers/layer.h"

namespace loom {

class Sequential final : public Layer {
 public:
  explicit Sequential(std::vector<LayerPtr> children = {}, bool residual = false) : children_(std::move(children)), residual_(residual) {}

  std::string_view kind() const override { return "sequential"; }
  void fields(FieldVisitor& visit) override;
  void visit_children(const std::function<void(const std::string&, Layer&)>& visit) override;
  Result<Shape> output_shape(const Shape& input) const override;
  void forward(const Exec& exec, const Pass& pass, const ConstView& x, const View& y) const override;
  void backward(const Exec& exec, const Pass& pass, const ConstView& dy, const View& dx) const override;

 private:
  std::vector<LayerPtr> children_;
  bool residual_;
};

}  // namespace loom
