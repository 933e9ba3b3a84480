#include "layers/layernorm/layernorm.h"

#include "ops/norm/norm.h"

namespace loom {

Result<LayerPtr> LayerNorm::create(std::vector<float> gamma, std::vector<float> beta, float eps) {
  if (gamma.empty()) return fail(Code::InvalidConfig, "layernorm: gamma is empty");
  if (!beta.empty() && beta.size() != gamma.size())
    return fail(Code::ShapeMismatch, "layernorm: gamma has {} values, beta {}", gamma.size(), beta.size());
  if (!(eps >= 0)) return fail(Code::InvalidConfig, "layernorm: eps {} given, expected a number >= 0", eps);
  return LayerPtr(new LayerNorm(std::move(gamma), std::move(beta), eps));
}

Result<Shape> LayerNorm::output_shape(const Shape& input) const {
  if (input.cols() != gamma_.size()) return fail(Code::ShapeMismatch, "layernorm: {} input features, gamma has {}", input.cols(), gamma_.size());
  return input;
}

void LayerNorm::forward(const Exec& exec, const Pass&, const ConstView& x, const View& y) const {
  layer_norm(exec, x, gamma_.data(), beta_.empty() ? nullptr : beta_.data(), eps_, y);
}

}  // namespace loom
