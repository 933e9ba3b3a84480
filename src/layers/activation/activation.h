#pragma once
// y = act(x), one of the activations of engine 3.2 as a layer (L-10).

#include "layers/layer.h"

namespace loom {

class ActivationLayer final : public Layer {
 public:
  explicit ActivationLayer(ActivationFn fn = {}) : fn_(fn) {}

  std::string_view kind() const override { return "activation"; }
  void fields(FieldVisitor& visit) override;
  Result<Shape> output_shape(const Shape& input) const override { return input; }
  void forward(const Exec& exec, const Pass& pass, const ConstView& x, const View& y) const override;
  void backward(const Exec& exec, const Pass& pass, const ConstView& dy, const View& dx) const override;

 private:
  ActivationFn fn_;
};

}  // namespace loom
