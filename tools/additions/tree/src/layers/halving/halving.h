#pragma once
// y = x / 2.

#include "layers/layer.h"

namespace loom {

class Halving final : public Layer {
 public:
  static const LayerKind kKind;
  const LayerKind& kind_row() const override { return kKind; }
  void fields(FieldVisitor& visit) override;
  Result<Shape> output_shape(const Shape& input) const override { return input; }
  void forward(const Run& run, const ConstView& x, const View& y) const override;
  void backward(const Run& run, const ConstView& dy, const View& dx) const override;
  void target(const Run& run, const TweenRules& rules, const ConstView& e, const View& d) const override;
};

}  // namespace loom
