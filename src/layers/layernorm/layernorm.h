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

  std::string_view kind() const override { return "layernorm"; }
  void fields(FieldVisitor& visit) override;
  Result<void> build() override;
  void visit_weights(const std::function<void(Weight&)>& visit) override;
  Result<Shape> output_shape(const Shape& input) const override;
  void forward(const Exec& exec, const Pass& pass, const ConstView& x, const View& y) const override;
  void backward(const Exec& exec, const Pass& pass, const ConstView& dy, const View& dx) const override;
  double tween_factor(const Weight& /*weight*/) const override { return 0.01; }

 private:
  LayerNormConfig config_;
  Weight gamma_, beta_;
};

}  // namespace loom
