#pragma once
// y = (x - mean) / sqrt(variance + eps) * gamma + beta by channel; engine 3.10. In training mean and variance are those
// of the batch, over samples and positions, and move the running ones: (1 - momentum) old + momentum new, with the
// unbiased variance (of a single value: the biased one). Otherwise they are the running ones. A training result depends
// on the whole batch.

#include "layers/layer.h"

namespace loom {

struct BatchNormConfig {
  std::size_t input_height = 0;  // channels
  double momentum = 0.1, eps = 1e-5;
};

class BatchNorm final : public Layer {
 public:
  explicit BatchNorm(const BatchNormConfig& config = {}) : config_(config) {}

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
  std::size_t tween_rows(const Shape& x, const Shape& /*y*/) const override {
    return x.elements() / config_.input_height;
  }

 private:
  void add_gains(const Run& run, const ConstView& x, const ConstView& mean, const ConstView& deviation,
                 const ConstView& dy, const View& xh) const;
  BatchNormConfig config_;
  Weight gamma_, beta_, running_mean_, running_var_;
};

}  // namespace loom
