#pragma once
// y = (x - mean) / sqrt(mean((x - mean)^2) + eps) * gamma + beta; gamma, beta [n], beta optional; engine 3.10.

#include "layers/layer.h"

namespace loom {

class LayerNorm final : public Layer {
 public:
  static Result<LayerPtr> create(std::vector<float> gamma, std::vector<float> beta, float eps);

  std::string_view kind() const override { return "layernorm"; }
  Result<Shape> output_shape(const Shape& input) const override;
  std::size_t scratch_bytes(const PlanSizes&, const Shape&) const override { return 0; }
  void forward(const Exec& exec, const Pass& pass, const ConstView& x, const View& y) const override;
  std::size_t resident_bytes() const override { return (gamma_.size() + beta_.size()) * sizeof(float); }

 private:
  LayerNorm(std::vector<float> gamma, std::vector<float> beta, float eps) : gamma_(std::move(gamma)), beta_(std::move(beta)), eps_(eps) {}
  std::vector<float> gamma_, beta_;
  float eps_;
};

}  // namespace loom
