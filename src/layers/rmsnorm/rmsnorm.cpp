#include "layers/rmsnorm/rmsnorm.h"

#include "ops/norm/norm.h"

namespace loom {

Result<LayerPtr> RmsNorm::create(std::vector<float> gamma, float eps) {
  if (gamma.empty()) return fail(Code::InvalidConfig, "rmsnorm: gamma is empty");
  if (!(eps >= 0)) return fail(Code::InvalidConfig, "rmsnorm: eps {} given, expected a number >= 0", eps);
  return LayerPtr(new RmsNorm(std::move(gamma), eps));
}

Result<Shape> RmsNorm::output_shape(const Shape& input) const {
  if (input.cols() != gamma_.size()) return fail(Code::ShapeMismatch, "rmsnorm: {} input features, gamma has {}", input.cols(), gamma_.size());
  return input;
}

void RmsNorm::forward(const Exec& exec, const Pass&, const ConstView& x, const View& y) const { rms_norm(exec, x, gamma_.data(), eps_, y); }

}  // namespace loom
