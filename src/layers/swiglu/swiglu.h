#pragma once
// y = Wd h + bd, h = act(Wg x + bg) * (Wu x + bu), normed (RMS) if asked. Wg, Wu [n, d], Wd [d, n]; engine 3.9 (Shazeer
// 2020).

#include "layers/linear.h"

namespace loom {

struct SwigluConfig {
  std::size_t input_height = 0, output_height = 0;  // d and n
  bool bias = false;
  ActivationFn activation = Activation::Silu;
  bool inner_norm = false;
  double rms_norm_eps = 1e-6;
};

class Swiglu final : public Layer {
 public:
  explicit Swiglu(const SwigluConfig& config = {}) : config_(config) {}

  static const LayerKind kKind;
  const LayerKind& kind_row() const override { return kKind; }
  void fields(FieldVisitor& visit) override;
  Result<void> build() override;
  void visit_weights(const std::function<void(Weight&)>& visit) override;
  Result<Shape> output_shape(const Shape& input) const override;
  void forward(const Run& run, const ConstView& x, const View& y) const override;
  void backward(const Run& run, const ConstView& dy, const View& dx) const override;
  void target(const Run& run, const TweenRules& rules, const ConstView& e, const View& d) const override;
  double tween_factor(const Weight& weight) const override;

 private:
  static LayerPtr fit(const FitRequest& request);
  void inner_norm_backward(const Run& run, const ConstView& hidden, const View& dnormed, const Tensor& dhidden,
                           std::size_t block) const;
  void gated_gap(const Run& run, const TweenRules& rules, const ConstView& gate, const ConstView& up,
                 const View& hidden, const View& of_gate, const View& of_up) const;
  SwigluConfig config_;
  Weight gate_, up_, down_, gate_bias_, up_bias_, down_bias_, inner_norm_;
};

}  // namespace loom
