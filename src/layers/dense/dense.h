#pragma once
// y = act(W x + b). W [out, in], b [out] optional; engine 3.3. A tied language-model head shares the embedding's matrix.

#include "layers/layer.h"
#include "ops/elementwise/elementwise.h"

namespace loom {

class Dense final : public Layer {
 public:
  // ShapeMismatch when the bias does not fit the matrix. `tied` weights are counted by their owner.
  static Result<LayerPtr> create(MatrixPtr weight, std::vector<float> bias, Activation activation, bool tied = false);

  std::string_view kind() const override { return "dense"; }
  Result<Shape> output_shape(const Shape& input) const override;
  std::size_t scratch_bytes(const PlanSizes& sizes, const Shape& input) const override;
  void forward(const Exec& exec, const Pass& pass, const ConstView& x, const View& y) const override;
  std::size_t resident_bytes() const override { return tied_ ? 0 : weight_->resident_bytes(); }
  void visit_matrices(const std::string& path, const std::function<void(const std::string&, const Matrix&)>& visit) const override {
    if (!tied_) visit(path + ".weight", *weight_);
  }

 private:
  Dense(MatrixPtr weight, std::vector<float> bias, Activation activation, bool tied)
      : weight_(std::move(weight)), bias_(std::move(bias)), activation_(activation), tied_(tied) {}
  MatrixPtr weight_;
  std::vector<float> bias_;
  Activation activation_;
  bool tied_;
};

}  // namespace loom
