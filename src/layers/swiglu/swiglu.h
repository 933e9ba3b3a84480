#pragma once
// y = Wd h + bd, h = act(Wg x + bg) * (Wu x + bu), normed (RMS) if asked. Wg, Wu [n, d], Wd [d, n]; engine 3.9 (Shazeer 2020).

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

  std::string_view kind() const override { return "swiglu"; }
  void fields(FieldVisitor& visit) override;
  Result<void> build() override;
  void visit_weights(const std::function<void(Weight&)>& visit) override;
  Result<Shape> output_shape(const Shape& input) const override;
  void forward(const Exec& exec, const Pass& pass, const ConstView& x, const View& y) const override;
  void backward(const Exec& exec, const Pass& pass, const ConstView& dy, const View& dx) const override;
  double tween_factor(const Weight& weight) const override;

 private:
  void gated_gap(const Exec& exec, const Pass& pass, const ConstView& gate, const ConstView& up, const View& dhidden, const View& dgate,
                 const View& dup) const;
  SwigluConfig config_;
  Weight gate_, up_, down_, gate_bias_, up_bias_, down_bias_, inner_norm_;
};

}  // namespace loom
