#pragma once
// As layernorm, over the channels of each of num_groups groups and all their positions; gamma, beta [C]; engine 3.10.
// One group is layer normalisation over a whole sample, as many groups as channels are instance normalisation.

#include "layers/layer.h"

namespace loom {

struct GroupNormConfig {
  std::size_t input_height = 0;  // channels
  std::size_t num_groups = 1;
  double eps = 1e-5;
};

class GroupNorm final : public Layer {
 public:
  explicit GroupNorm(const GroupNormConfig& config = {}) : config_(config) {}

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
  GroupNormConfig config_;
  Weight gamma_, beta_;
};

}  // namespace loom
