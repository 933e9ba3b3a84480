#include "layers/dense/dense.h"

#include <array>

#include "ops/matmul/matmul.h"

namespace loom {

Result<LayerPtr> Dense::create(MatrixPtr weight, std::vector<float> bias, Activation activation, bool tied) {
  if (!bias.empty() && bias.size() != weight->rows())
    return fail(Code::ShapeMismatch, "dense: {} biases for {} outputs", bias.size(), weight->rows());
  return LayerPtr(new Dense(std::move(weight), std::move(bias), activation, tied));
}

Result<Shape> Dense::output_shape(const Shape& input) const {
  if (input.cols() != weight_->cols()) return fail(Code::ShapeMismatch, "dense: {} input features, the weight has {}", input.cols(), weight_->cols());
  return input.with_cols(weight_->rows());
}

std::size_t Dense::scratch_bytes(const PlanSizes&, const Shape& input) const { return matmul_scratch_bytes(input.rows(), input.cols()); }

void Dense::forward(const Exec& exec, const Pass&, const ConstView& x, const View& y) const {
  matmul(exec, x, std::array{MatmulJob{weight_.get(), y, bias_.empty() ? nullptr : bias_.data()}});
  if (activation_ != Activation::Linear) activate(exec, activation_, y, y);
}

}  // namespace loom
