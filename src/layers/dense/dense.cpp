#include "layers/dense/dense.h"

#include <array>

#include "ops/matmul/matmul.h"

namespace loom {

Result<LayerPtr> Dense::create(MatrixPtr weight, std::vector<float> bias, Activation activation, bool tied) {
  if (!bias.empty() && bias.size() != weight->rows())
    return fail(Code::ShapeMismatch, "dense: {} biases for {} outputs", bias.size(), weight->rows());
  return LayerPtr(new Dense(std::move(weight), std::move(bias), activation, tied));
}

Result<std::size_t> Dense::output_cols(std::size_t input_cols) const {
  if (input_cols != weight_->cols()) return fail(Code::ShapeMismatch, "dense: {} input features, the weight has {}", input_cols, weight_->cols());
  return weight_->rows();
}

std::size_t Dense::scratch_bytes(const PlanSizes& sizes, std::size_t input_cols) const { return matmul_scratch_bytes(sizes.rows, input_cols); }

void Dense::forward(const Exec& exec, const Pass&, ConstTensor x, Tensor y) const {
  matmul(exec, x, std::array{MatmulJob{weight_.get(), y, bias_.empty() ? nullptr : bias_.data()}});
  if (activation_ != Activation::Linear) activate(exec, activation_, y, y);
}

}  // namespace loom
