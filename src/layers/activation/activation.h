#pragma once
// y = act(x), one of the activations of engine 3.2 as a layer (L-10).

#include "layers/layer.h"

namespace loom {

class ActivationLayer final : public Layer {
 public:
  explicit ActivationLayer(ActivationFn fn = {}) : fn_(fn) {}

  static const LayerKind kKind;
  const LayerKind& kind_row() const override { return kKind; }
  void fields(FieldVisitor& visit) override;
  Result<Shape> output_shape(const Shape& input) const override { return input; }
  void forward(const Run& run, const ConstView& x, const View& y) const override;
  void backward(const Run& run, const ConstView& dy, const View& dx) const override;
  void target(const Run& run, const TweenRules& rules, const ConstView& e, const View& d) const override;

 private:
  ActivationFn fn_;
};

}  // namespace loom
