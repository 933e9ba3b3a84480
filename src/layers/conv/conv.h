#pragma once
// Convolutions and transposed convolutions over one to three axes (cnn1..3, convtransposed1..3); engine 3.4, 3.5.
// x [B, C, in...] (or [C, in...]) -> y [B, F, out...] = act(sum over (c, k) of W[f, c, k] * patch + b[f]),
// cross-correlation. W [F, C / groups, kernel...], filter-major for both. Quantised inputs have one scale per patch or
// 32 of it. A declared smaller output is a crop at the end of each axis. Backward meets the weight's decoded values.

#include "layers/linear.h"
#include "layers/spatial.h"
#include "ops/conv/conv.h"

namespace loom {

struct ConvConfig {
  std::size_t input_channels = 1, filters = 1, groups = 1;
  AxisSizes kernel_size{}, stride{}, padding{}, dilation{}, output_padding{};
  bool bias = false;
  ActivationFn activation{};
};

class Conv final : public Layer {
 public:
  Conv(std::size_t axes, bool transposed, ConvConfig config = {})
      : axes_(axes), transposed_(transposed), config_(std::move(config)) {}

  static const std::array<LayerKind, 6> kKinds;  // of one to three axes, then transposed
  const LayerKind& kind_row() const override { return kKinds[(transposed_ ? 3 : 0) + axes_ - 1]; }
  void fields(FieldVisitor& visit) override;
  Result<void> build() override;
  void visit_weights(const std::function<void(Weight&)>& visit) override;
  Result<Shape> output_shape(const Shape& input) const override;
  std::size_t sample_rank() const override { return axes_ + 1; }
  void forward(const Run& run, const ConstView& x, const View& y) const override;
  void backward(const Run& run, const ConstView& dy, const View& dx) const override;
  void target(const Run& run, const TweenRules& rules, const ConstView& e, const View& d) const override;
  std::size_t tween_rows(const Shape& x, const Shape& y) const override;

 private:
  struct Plan;
  Result<Plan> plan(const Shape& input) const;
  void* reversed_weight(const Run& run, const Plan& plan, Element element) const;
  void add_products(const Run& run, const Plan& plan, const ConstView& x, const ConstView& g) const;
  void close_input(const Run& run, const TweenRules& rules, const Plan& plan, const Tensor& w, const ConstView& x,
                   std::size_t outputs, const View& d) const;
  void sums(const Run& run, const Plan& plan, const ConstView& x, const View& y) const;
  std::size_t axes_;
  bool transposed_;
  ConvConfig config_;
  DeclaredSizes sizes_;
  ConvGeometry geometry_;
  Weight weight_, bias_;
};

}  // namespace loom
