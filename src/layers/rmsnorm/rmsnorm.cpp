#include "layers/rmsnorm/rmsnorm.h"

#include <array>

#include "ops/norm/norm.h"

namespace loom {

void RmsNorm::fields(FieldVisitor& visit) {
  visit("input_height|output_height", config_.input_height, {1});
  visit("rms_norm_eps|eps", config_.rms_norm_eps);
}

Result<void> RmsNorm::build() {
  return gamma_.declare("gamma", WeightRole::TypedVector, std::array{config_.input_height}, {WeightInit::Rule::Ones});
}

Result<Shape> RmsNorm::output_shape(const Shape& input) const {
  if (input.cols() != config_.input_height)
    return fail(Code::ShapeMismatch, "rmsnorm: {} input features, gamma has {}", input.cols(), config_.input_height);
  return input;
}

void RmsNorm::forward(const Exec& exec, const Pass&, const ConstView& x, const View& y) const {
  const ArenaScope scope(exec.arena);
  with_element(x.element, [&]<class T>() { rms_norm(exec, x, gamma_.values<T>(exec), config_.rms_norm_eps, y); });
}

}  // namespace loom
