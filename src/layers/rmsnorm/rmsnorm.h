#pragma once
// y = x / sqrt(mean(x^2) + eps) * (gamma + weight_offset); gamma [n]; engine 3.10.

#include "layers/layer.h"

namespace loom {

struct RmsNormConfig {
  std::size_t input_height = 0;
  double rms_norm_eps = 1e-6;
  double weight_offset = 0;  // 1 in checkpoints that keep gamma - 1
};

class RmsNorm final : public Layer {
 public:
  explicit RmsNorm(const RmsNormConfig& config = {}) : config_(config) {}

  static const LayerKind kKind;
  const LayerKind& kind_row() const override { return kKind; }
  void fields(FieldVisitor& visit) override;
  Result<void> build() override;
  void visit_weights(const std::function<void(Weight&)>& visit) override { visit(gamma_); }
  Result<Shape> output_shape(const Shape& input) const override;
  void forward(const Run& run, const ConstView& x, const View& y) const override;
  void backward(const Run& run, const ConstView& dy, const View& dx) const override;
  void target(const Run& run, const TweenRules& rules, const ConstView& e, const View& d) const override;
  double tween_factor(const Weight& /*weight*/) const override { return 0.01; }

 private:
  static LayerPtr fit(const FitRequest& request);
  // gamma + weight_offset
  template <class T>
  const T* gains(const Exec& exec) const;
  RmsNormConfig config_;
  Weight gamma_;
};

}  // namespace loom
