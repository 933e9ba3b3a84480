#include "layers/dense/dense.h"

#include "layers/activation_fields.h"
#include "layers/tween.h"

namespace loom {

void Dense::fields(FieldVisitor& visit) {
  visit("input_height|input_size|in_features", config_.input_height, {1});
  visit("output_height|output_size|out_features", config_.output_height, {1});
  visit("bias", config_.bias);
  visit("tied_to", config_.tied_to);
  visit_activation(visit, config_.activation);
}

Result<void> Dense::build() {
  const std::size_t in = config_.input_height, out = config_.output_height;
  const auto rule = is_relu_like(config_.activation.kind) ? WeightInit::Rule::He : WeightInit::Rule::Glorot;
  LOOM_TRY_VOID(weight_.declare("weight", WeightRole::Matrix, std::array{out, in}, {rule, in, out}));
  if (config_.bias) {
    LOOM_TRY_VOID(bias_.declare("bias", WeightRole::Vector, std::array{out}));
  }
  return {};
}

void Dense::visit_weights(const std::function<void(Weight&)>& visit) {
  visit(weight_);
  if (config_.bias) visit(bias_);
}

Result<Shape> Dense::output_shape(const Shape& input) const {
  if (input.cols() != config_.input_height)
    return fail(Code::ShapeMismatch, "dense: {} input features, the weight has {}", input.cols(), config_.input_height);
  return input.with_cols(config_.output_height);
}

void Dense::forward(const Exec& exec, const Pass& pass, const ConstView& x, const View& y) const {
  // The derivative is taken at the sum before the activation.
  const View sum = pass.keeps() && !config_.activation.is_linear() ? exec.arena.view(y.shape, y.element) : y;
  linear(exec, x, weight_, bias_, sum);
  if (!config_.activation.is_linear()) activate(exec, config_.activation, sum, y);
  if (!pass.keeps()) return;
  pass.tape->push(x);
  pass.tape->push(sum);
}

void Dense::backward(const Exec& exec, const Pass& pass, const ConstView& dy, const View& dx) const {
  const ArenaScope scope(exec.arena);
  const ConstView sum = pass.tape->pop(), x = pass.tape->pop();
  ConstView g = dy;
  if (!config_.activation.is_linear()) {
    const View slope = exec.arena.view(dy.shape, dy.element);
    through_activation(exec, pass, config_.activation, sum, dy, slope);
    g = slope;
  }
  ConstTensor y = sum;
  if (pass.tween != nullptr && pass.tween->averages) {
    const Tensor active = exec.arena.view(dy.shape, dy.element);
    activate(exec, config_.activation, sum, active);
    y = active;
  }
  linear_backward(exec, pass, x, weight_, bias_, g, dx, rows_of_block(x.shape), false, &y);
  close_targets(exec, pass, weight_, x, dx);
}

}  // namespace loom
