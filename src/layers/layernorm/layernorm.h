#pragma once
// y = (x - mean) / sqrt(mean((x - mean)^2) + eps) * gamma + beta; gamma, beta [n]; engine 3.10.

#include "layers/layer.h"

namespace loom {

struct LayerNormConfig {
  std::size_t input_height = 0;
  double eps = 1e-5;
  bool bias = true;  // beta
};

class LayerNorm final : public Layer {
 public:
  explicit LayerNorm(const LayerNormConfig& config = {}) : config_(config) {}

  static const LayerKind kKind;
  const LayerKind& kind_row() const override { return kKind; }
  void fields(FieldVisitor& visit) override;
  Result<void> build() override;
  void visit_weights(const std::function<void(Weight&)>& visit) override;
  Result<Shape> output_shape(const Shape& input) const override;
  void forward(const Run& run, const ConstView& x, const View& y) const override;
  void backward(const Run& run, const ConstView& dy, const View& dx) const override;
  void target(const Run& run, const TweenRules& rules, const ConstView& e, const View& d) const override;
  double tween_factor(const Weight& /*weight*/) const override { return 0.01; }

 private:
  static LayerPtr fit(const FitRequest& request);
  LayerNormConfig config_;
  Weight gamma_, beta_;
};

}  // namespace loom
