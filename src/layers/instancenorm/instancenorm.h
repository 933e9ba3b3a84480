#pragma once
// Instance normalisation (Ulyanov et al. 2016, arXiv 1607.08022): every channel of every sample by itself, over its
// positions. x [B, C, positions...] -> y = (x - mean) / sqrt(variance + eps) * gamma + beta, mean and biased variance
// of that channel of that sample; gamma, beta [C], with `affine` alone. The statistics are the input's own, in training
// and after it.

#include "layers/layer.h"

namespace loom {

struct InstanceNormConfig {
  std::size_t input_height = 0;  // channels
  double eps = 1e-5;
  bool affine = false;
};

class InstanceNorm final : public Layer {
 public:
  explicit InstanceNorm(const InstanceNormConfig& config = {}) : config_(config) {}

  static const LayerKind kKind;
  const LayerKind& kind_row() const override { return kKind; }
  void fields(FieldVisitor& visit) override;
  Result<void> build() override;
  void visit_weights(const std::function<void(Weight&)>& visit) override;
  Result<Shape> output_shape(const Shape& input) const override;
  std::size_t sample_rank() const override { return 2; }
  void forward(const Run& run, const ConstView& x, const View& y) const override;
  void backward(const Run& run, const ConstView& dy, const View& dx) const override;
  void target(const Run& run, const TweenRules& rules, const ConstView& e, const View& d) const override;
  double tween_factor(const Weight& /*weight*/) const override { return 0.01; }
  std::size_t tween_rows(const Shape& x, const Shape& /*y*/) const override {
    return x.elements() / config_.input_height;
  }

 private:
  // Ones where the layer has no gains of its own.
  const void* gains(const Run& run, Element element) const;
  InstanceNormConfig config_;
  Weight gamma_, beta_;
};

}  // namespace loom
