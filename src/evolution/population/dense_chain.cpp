#include "evolution/population/dense_chain.h"

#include <algorithm>

#include "layers/dense/dense.h"

namespace loom {

bool DenseChain::read(const Network& network) {
  calls_.clear();
  widest_ = 0;
  if (network.settings.activations != Element::f32) return false;
  for (std::size_t i = 0; i < network.num_cells(); ++i) {
    if (!network.cell(i).runs()) continue;
    const Dense* dense = layer_as<Dense>(*network.cell(i).front());
    if (dense == nullptr) return false;
    const Weight &weight = dense->weight(), &bias = dense->bias();
    if (!weight.adapters().empty() || !weight.has_value()) return false;
    const Matrix& matrix = *weight.matrix();
    if (matrix.layout().quantises_input() || (!calls_.empty() && matrix.cols() != calls_.back().weight->rows()))
      return false;
    if (bias.declared() && (!bias.has_value() || bias.plain() == nullptr)) return false;
    const ActivationFn& activation = dense->config().activation;
    calls_.push_back(
        {&matrix, bias.declared() ? bias.plain() : nullptr, activation.is_linear() ? nullptr : &activation});
    widest_ = std::max(widest_, matrix.rows());
  }
  return !calls_.empty();
}

bool DenseChain::takes(const Shape& input) {
  constexpr std::size_t kMost = 1 << 16;  // values after a cell: larger ones gain nothing
  if (input.cols() != calls_.front().weight->cols() || input.rows() > kMost / widest_) return false;
  const std::size_t outputs = calls_.back().weight->rows();
  if (!has_output_ || output_.cols() != outputs || !(input_ == input)) {
    input_ = input, output_ = input.with_cols(outputs).value(), has_output_ = true;
  }
  if (values_.size() < 2 * widest_ * input.rows()) values_.resize(2 * widest_ * input.rows());
  return true;
}

ConstView DenseChain::forward(const KernelTable& kernels, const ConstView& x) {
  const std::size_t rows = input_.rows();
  const std::span<float> memory(values_.data(), 2 * widest_ * rows);
  return {run_dense_calls(kernels, calls_, x.as<float>(), rows, memory), output_, Element::f32};
}

}  // namespace loom
