#pragma once
// y = x / sqrt(mean(x^2) + eps) * gamma; gamma [n]; engine 3.10.

#include "layers/layer.h"

namespace loom {

class RmsNorm final : public Layer {
 public:
  static Result<LayerPtr> create(std::vector<float> gamma, float eps);

  std::string_view kind() const override { return "rmsnorm"; }
  Result<Shape> output_shape(const Shape& input) const override;
  std::size_t scratch_bytes(const PlanSizes&, const Shape&) const override { return 0; }
  void forward(const Exec& exec, const Pass& pass, const ConstView& x, const View& y) const override;
  std::size_t resident_bytes() const override { return gamma_.size() * sizeof(float); }

 private:
  RmsNorm(std::vector<float> gamma, float eps) : gamma_(std::move(gamma)), eps_(eps) {}
  std::vector<float> gamma_;
  float eps_;
};

}  // namespace loom
