#pragma once
// Convolutions and transposed convolutions over one to three axes (cnn1..3, convtransposed1..3); engine 3.4, 3.5.
// x [B, C, in...] (or [C, in...]) -> y [B, F, out...] = act(sum over (c, k) of W[f, c, k] * patch + b[f]), cross-correlation.
// W [F, C / groups * taps], filter-major for both; one matrix per group. Quantised inputs have one scale per patch or 32 of it.

#include "layers/layer.h"
#include "ops/elementwise/elementwise.h"
#include "ops/unfold/unfold.h"

namespace loom {

struct ConvConfig {
  std::size_t axes = 2, channels = 1, filters = 1, groups = 1;
  ConvGeometry geometry{};                  // `in` is the input's
  Activation activation = Activation::Linear;
};

class Conv final : public Layer {
 public:
  // `weights`: one matrix [filters / groups, channels / groups * taps] per group. `bias` [filters] or empty.
  static Result<LayerPtr> create(const ConvConfig& config, std::vector<MatrixPtr> weights, std::vector<float> bias);

  std::string_view kind() const override;
  Result<Shape> output_shape(const Shape& input) const override;
  std::size_t scratch_bytes(const PlanSizes& sizes, const Shape& input) const override;
  void forward(const Exec& exec, const Pass& pass, const ConstView& x, const View& y) const override;
  std::size_t resident_bytes() const override;
  void visit_matrices(const std::string& path, const std::function<void(const std::string&, const Matrix&)>& visit) const override;

 private:
  Conv(const ConvConfig& config, std::vector<MatrixPtr> weights, std::vector<float> bias)
      : config_(config), weights_(std::move(weights)), bias_(std::move(bias)) {}
  ConvGeometry geometry_for(const Shape& input) const;
  ConvConfig config_;
  std::vector<MatrixPtr> weights_;
  std::vector<float> bias_;
};

}  // namespace loom
