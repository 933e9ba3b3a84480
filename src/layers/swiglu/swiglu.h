#pragma once
// y = Wd (act(Wg x + bg) * (Wu x + bu)) + bd. Wg, Wu [n, d], Wd [d, n]; engine 3.9 (Shazeer 2020).

#include "layers/layer.h"
#include "ops/elementwise/elementwise.h"

namespace loom {

struct SwigluWeights {
  MatrixPtr gate, up, down;
  std::vector<float> gate_bias, up_bias, down_bias;  // empty: none
};

class Swiglu final : public Layer {
 public:
  static Result<LayerPtr> create(SwigluWeights weights, Activation activation);

  std::string_view kind() const override { return "swiglu"; }
  Result<Shape> output_shape(const Shape& input) const override;
  std::size_t scratch_bytes(const PlanSizes& sizes, const Shape& input) const override;
  void forward(const Exec& exec, const Pass& pass, const ConstView& x, const View& y) const override;
  std::size_t resident_bytes() const override;
  void visit_matrices(const std::string& path, const std::function<void(const std::string&, const Matrix&)>& visit) const override;

 private:
  Swiglu(SwigluWeights weights, Activation activation) : w_(std::move(weights)), activation_(activation) {}
  SwigluWeights w_;
  Activation activation_;
};

}  // namespace loom
