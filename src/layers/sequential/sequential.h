#pragma once
// Children one after another; with `residual` the output is x + f(x). A decoder block is
// sequential[ sequential(residual)[rmsnorm, mha], sequential(residual)[rmsnorm, swiglu] ]; engine V-30.

#include "layers/layer.h"

namespace loom {

class Sequential final : public Layer {
 public:
  static Result<LayerPtr> create(std::vector<LayerPtr> children, bool residual);

  std::string_view kind() const override { return "sequential"; }
  Result<Shape> output_shape(const Shape& input) const override;
  std::size_t scratch_bytes(const PlanSizes& sizes, const Shape& input) const override;
  void forward(const Exec& exec, const Pass& pass, const ConstView& x, const View& y) const override;
  void assign_state(std::size_t& next, std::vector<StateNeeds>& needs) override;
  std::size_t resident_bytes() const override;
  void visit_matrices(const std::string& path, const std::function<void(const std::string&, const Matrix&)>& visit) const override;

 private:
  Sequential(std::vector<LayerPtr> children, bool residual) : children_(std::move(children)), residual_(residual) {}
  std::vector<LayerPtr> children_;
  bool residual_;
};

}  // namespace loom
