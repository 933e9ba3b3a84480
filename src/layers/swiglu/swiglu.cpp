#include "layers/swiglu/swiglu.h"

#include "layers/activation_fields.h"
#include "layers/norm_eps.h"
#include "layers/tween.h"
#include "ops/norm/norm.h"

namespace loom {

void Swiglu::fields(FieldVisitor& visit) {
  visit("input_height|input_size|d_model", config_.input_height, {1});
  visit("output_height|intermediate_size", config_.output_height, {1});
  visit("bias", config_.bias);
  visit_activation(visit, config_.activation);
  visit("inner_norm", config_.inner_norm);
  visit("rms_norm_eps", config_.rms_norm_eps);
}

Result<void> Swiglu::build() {
  LOOM_TRY_VOID(check_eps(kind(), "rms_norm_eps", config_.rms_norm_eps));
  const std::size_t d = config_.input_height, n = config_.output_height;
  using Rule = WeightInit::Rule;
  LOOM_TRY_VOID(gate_.declare("gate.weight", WeightRole::Matrix, std::array{n, d}, {Rule::Glorot, d, n}));
  LOOM_TRY_VOID(up_.declare("up.weight", WeightRole::Matrix, std::array{n, d}, {Rule::Glorot, d, n}));
  LOOM_TRY_VOID(down_.declare("down.weight", WeightRole::Matrix, std::array{d, n}, {Rule::Glorot, n, d}));
  if (config_.inner_norm) {
    LOOM_TRY_VOID(inner_norm_.declare("inner_norm", WeightRole::Vector, std::array{n}, {Rule::Ones}));
  }
  if (!config_.bias) return {};
  LOOM_TRY_VOID(gate_bias_.declare("gate.bias", WeightRole::Vector, std::array{n}));
  LOOM_TRY_VOID(up_bias_.declare("up.bias", WeightRole::Vector, std::array{n}));
  return down_bias_.declare("down.bias", WeightRole::Vector, std::array{d});
}

void Swiglu::visit_weights(const std::function<void(Weight&)>& visit) {
  for (Weight* w : {&gate_, &up_, &down_, &gate_bias_, &up_bias_, &down_bias_, &inner_norm_})
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
  const float floor = config_.inner_norm ? kBitnetFloor : 0.0f;
  linear(exec, x, std::array{LinearJob{&gate_, &gate_bias_, gate, 0, floor}, LinearJob{&up_, &up_bias_, up, 0, floor}});
  const Tensor hidden = pass.keeps() ? exec.arena.tensor(rows, n, x.element) : gate;
  gated(exec, config_.activation, gate, up, hidden);
  Tensor normed = hidden;
  if (config_.inner_norm) {
    if (pass.keeps()) normed = exec.arena.tensor(rows, n, x.element);
    with_element(x.element, [&]<class T>() { rms_norm(exec, hidden, inner_norm_.values<T>(exec), config_.rms_norm_eps, normed); });
  }
  linear(exec, normed, down_, down_bias_, y, floor);
  if (!pass.keeps()) return;
  pass.tape->push(x);
  for (const Tensor& t : {gate, up, hidden, normed}) pass.tape->push({t.data, x.shape.with_cols(n).value(), x.element});
}

void Swiglu::backward(const Exec& exec, const Pass& pass, const ConstView& dy, const View& dx) const {
  const ArenaScope scope(exec.arena);
  const ConstView normed = pass.tape->pop(), hidden = pass.tape->pop(), up = pass.tape->pop(), gate = pass.tape->pop(), x = pass.tape->pop();
  const std::size_t block = rows_of_block(x.shape);
  const View dhidden = exec.arena.view(hidden.shape, x.element);
  linear_backward(exec, pass, normed, down_, down_bias_, dy, dhidden, block);
  close_targets(exec, pass, down_, normed, dhidden);
  if (config_.inner_norm) {
    void* const gradient = pass.gradients == nullptr ? nullptr : pass.gradients->of(inner_norm_);
    with_element(x.element, [&]<class T>() {
      const T* const gains = inner_norm_.values<T>(exec);
      const Tensor passed = pass.tween == nullptr ? Tensor(dhidden) : exec.arena.tensor(hidden.shape.rows(), hidden.shape.cols(), x.element);
      rms_norm_gradient(exec, hidden, gains, config_.rms_norm_eps, dhidden, passed, gradient, block);
      target_before_norm(exec, pass, {.shape = {hidden.shape.rows(), hidden.shape.cols(), 1}, .eps = config_.rms_norm_eps}, hidden, gains, dhidden, dhidden);
    });
  }
  const View dgate = exec.arena.view(hidden.shape, x.element), dup = exec.arena.view(hidden.shape, x.element);
  if (pass.tween == nullptr)
    gated_backward(exec, config_.activation, gate, up, dhidden, dgate, dup);
  else
    gated_gap(exec, pass, gate, up, dhidden, dgate, dup);
  linear_backward(exec, pass, x, gate_, gate_bias_, dgate, dx, block);
  linear_backward(exec, pass, x, up_, up_bias_, dup, dx, block, true);
  close_targets(exec, pass, std::array<const Weight*, 2>{&gate_, &up_}, x, dx);
}

// The hidden gap before the product act(gate) * up: each factor in turn counts as fixed.
void Swiglu::gated_gap(const Exec& exec, const Pass& pass, const ConstView& gate, const ConstView& up, const View& dhidden, const View& dgate,
                       const View& dup) const {
  activate(exec, config_.activation, gate, dgate);
  if (pass.tween->secant) {
    multiply(exec, dhidden, dgate, dup);
    multiply(exec, dhidden, up, dgate);
    return through_activation(exec, pass, config_.activation, gate, dgate, dgate);
  }
  signed_gap(exec, dgate, dhidden, dup);
  signed_gap(exec, up, dhidden, dgate);
}

// Factors of engine W-23.
double Swiglu::tween_factor(const Weight& weight) const { return &weight == &inner_norm_ ? kNormFactor : 0.1; }

}  // namespace loom
