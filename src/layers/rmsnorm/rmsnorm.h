#pragma once
// y = x / sqrt(mean(x^2) + eps) * gamma; gamma [n]; engine 3.10.

#include "layers/layer.h"

namespace loom {

struct RmsNormConfig {
  std::size_t input_height = 0;
  double rms_norm_eps = 1e-6;
};

class RmsNorm final : public Layer {
 public:
  explicit RmsNorm(const RmsNormConfig& config = {}) : config_(config) {}

  std::string_view kind() const override { return "rmsnorm"; }
  void fields(FieldVisitor& visit) override;
  Result<void> build() override;
  void visit_weights(const std::function<void(Weight&)>& visit) override { visit(gamma_); }
  Result<Shape> output_shape(const Shape& input) const override;
  void forward(const Exec& exec, const Pass& pass, const ConstView& x, const View& y) const override;

 private:
  RmsNormConfig config_;
  Weight gamma_;
};

}  // namespace loom
