#include "layers/swiglu/swiglu.h"

#include "layers/activation_fields.h"

namespace loom {

void Swiglu::fields(FieldVisitor& visit) {
  visit("input_height|input_size|d_model", config_.input_height, {1});
  visit("output_height|intermediate_size", config_.output_height, {1});
  visit("bias", config_.bias);
  visit_activation(visit, config_.activation);
}

Result<void> Swiglu::build() {
  const std::size_t d = config_.input_height, n = config_.output_height;
  using Rule = WeightInit::Rule;
  LOOM_TRY_VOID(gate_.declare("gate.weight", WeightRole::Matrix, std::array{n, d}, {Rule::Glorot, d, n}));
  LOOM_TRY_VOID(up_.declare("up.weight", WeightRole::Matrix, std::array{n, d}, {Rule::Glorot, d, n}));
  LOOM_TRY_VOID(down_.declare("down.weight", WeightRole::Matrix, std::array{d, n}, {Rule::Glorot, n, d}));
  if (!config_.bias) return {};
  LOOM_TRY_VOID(gate_bias_.declare("gate.bias", WeightRole::Vector, std::array{n}));
  LOOM_TRY_VOID(up_bias_.declare("up.bias", WeightRole::Vector, std::array{n}));
  return down_bias_.declare("down.bias", WeightRole::Vector, std::array{d});
}

void Swiglu::visit_weights(const std::function<void(Weight&)>& visit) {
  for (Weight* w : {&gate_, &up_, &down_, &gate_bias_, &up_bias_, &down_bias_})
    if (w->declared()) visit(*w);
}

Result<Shape> Swiglu::output_shape(const Shape& input) const {
  if (input.cols() != config_.input_height)
    return fail(Code::ShapeMismatch, "swiglu: {} input features, the gate has {}", input.cols(), config_.input_height);
  return input;
}

void Swiglu::forward(const Exec& exec, const Pass& pass, const ConstView& x, const View& y) const {
  const ArenaScope scope(exec.arena, pass.keeps());
  const std::size_t rows = x.shape.rows(), n = config_.output_height;
  const Tensor gate = exec.arena.tensor(rows, n, x.element), up = exec.arena.tensor(rows, n, x.element);
  linear(exec, x, std::array{LinearJob{&gate_, &gate_bias_, gate}, LinearJob{&up_, &up_bias_, up}});
  const Tensor hidden = pass.keeps() ? exec.arena.tensor(rows, n, x.element) : gate;
  gated(exec, config_.activation, gate, up, hidden);
  linear(exec, hidden, down_, down_bias_, y);
  if (!pass.keeps()) return;
  pass.tape->push(x);
  for (const Tensor& t : {gate, up, hidden}) pass.tape->push({t.data, x.shape.with_cols(n).value(), x.element});
}

void Swiglu::backward(const Exec& exec, const Pass& pass, const ConstView& dy, const View& dx) const {
  const ArenaScope scope(exec.arena);
  const ConstView hidden = pass.tape->pop(), up = pass.tape->pop(), gate = pass.tape->pop(), x = pass.tape->pop();
  const std::size_t block = rows_of_block(x.shape);
  const View dhidden = exec.arena.view(hidden.shape, x.element);
  linear_backward(exec, pass, hidden, down_, down_bias_, dy, dhidden, block);
  const View dgate = exec.arena.view(hidden.shape, x.element), dup = exec.arena.view(hidden.shape, x.element);
  gated_backward(exec, config_.activation, gate, up, dhidden, dgate, dup);
  linear_backward(exec, pass, x, gate_, gate_bias_, dgate, dx, block);
  linear_backward(exec, pass, x, up_, up_bias_, dup, dx, block, true);
}

}  // namespace loom
