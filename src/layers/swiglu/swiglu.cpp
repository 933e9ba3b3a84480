#include "layers/swiglu/swiglu.h"

#include <algorithm>

#include "layers/activation_fields.h"
#include "layers/norm_eps.h"
#include "layers/tween.h"
#include "ops/norm/norm.h"

namespace loom {

constinit const LayerKind Swiglu::kKind{.id = 2,
                                        .name = "swiglu",
                                        .aliases = "gatedmlp",
                                        .help = "y = Wd (act(Wg x + bg) * (Wu x + bu)) + bd",
                                        .shapes = "[..., d_model] -> the same shape",
                                        .make = make_layer<Swiglu>,
                                        .width_key = "input_height",
                                        .fit = fit};

LayerPtr Swiglu::fit(const FitRequest& r) {
  return std::make_unique<Swiglu>(
      SwigluConfig{.input_height = r.width(), .output_height = std::min<std::size_t>(2 * r.width(), 4096)});
}

void Swiglu::fields(FieldVisitor& visit) {
  visit({"input_height|input_size|d_model", "Required. Features of input and output"}, config_.input_height, {1});
  visit({"output_height|intermediate_size", "Required. Features in between: rows of Wg and Wu"}, config_.output_height,
        {1});
  visit({"bias", "Adds bg, bu and bd"}, config_.bias);
  visit_activation(visit, config_.activation);
  visit({"inner_norm", "RMS norm before Wd, as in BitNet"}, config_.inner_norm);
  visit({"rms_norm_eps", "inner_norm: added to the mean square under the root, 0 to 1"}, config_.rms_norm_eps);
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

void Swiglu::forward(const Run& run, const ConstView& x, const View& y) const {
  const ArenaScope scope(run.arena(), run.keeps());
  const std::size_t rows = x.shape.rows(), n = config_.output_height;
  const Tensor gate = run.tensor(rows, n, x.element), up = run.tensor(rows, n, x.element);
  const float floor = config_.inner_norm ? kBitnetFloor : 0.0f;
  linear(run, x, std::array{LinearJob{&gate_, &gate_bias_, gate, 0, floor}, LinearJob{&up_, &up_bias_, up, 0, floor}});
  const Tensor hidden = run.may_replace() ? gate : run.tensor(rows, n, x.element);
  gated(run, config_.activation, gate, up, hidden);
  Tensor normed = hidden;
  if (config_.inner_norm) {
    if (run.keeps()) normed = run.tensor(rows, n, x.element);
    with_element(x.element,
                 [&]<class T>() { rms_norm(run, hidden, inner_norm_.values<T>(run), config_.rms_norm_eps, normed); });
  }
  linear(run, normed, down_, down_bias_, y, floor);
  const auto kept = [&](const Tensor& t) { return ConstView{t.data, *x.shape.with_cols(n), x.element}; };
  run.save(x, kept(gate), kept(up), kept(hidden), kept(normed));
}

void Swiglu::backward(const Run& run, const ConstView& dy, const View& dx) const {
  const ArenaScope scope(run.arena());
  const auto [x, gate, up, hidden, normed] = run.saved<5>();
  const std::size_t block = rows_of_block(x.shape);
  const View dhidden = run.view(hidden.shape, x.element);
  linear_backward(run, normed, down_, down_bias_, dy, dhidden, block);
  if (config_.inner_norm) inner_norm_backward(run, hidden, dhidden, dhidden, block);
  const View dgate = run.view(hidden.shape, x.element), dup = run.view(hidden.shape, x.element);
  gated_backward(run, config_.activation, gate, up, dhidden, dgate, dup);
  linear_backward(run, x, gate_, gate_bias_, dgate, dx, block);
  linear_backward(run, x, up_, up_bias_, dup, dx, block, true);
}

void Swiglu::inner_norm_backward(const Run& run, const ConstView& hidden, const View& dnormed, const Tensor& dhidden,
                                 std::size_t block) const {
  with_element(hidden.element, [&]<class T>() {
    rms_norm_gradient(run, hidden, inner_norm_.values<T>(run), config_.rms_norm_eps, dnormed, dhidden,
                      run.gradient(inner_norm_), block);
  });
}

void Swiglu::target(const Run& run, const TweenRules& rules, const ConstView& e, const View& d) const {
  const ArenaScope scope(run.arena());
  const auto [x, gate, up, hidden, normed] = run.saved<5>();
  const std::size_t block = rows_of_block(x.shape);
  const View inner = run.view(hidden.shape, x.element);
  linear_target(run, rules, normed, down_, down_bias_, e, inner, block);
  close_targets(run, rules, down_, normed, inner);
  if (config_.inner_norm) {
    // for the gains alone
    inner_norm_backward(run, hidden, inner, run.tensor(hidden.shape.rows(), hidden.shape.cols(), x.element), block);
    const NormGap norm{.shape = {hidden.shape.rows(), hidden.shape.cols(), 1}, .eps = config_.rms_norm_eps};
    with_element(x.element, [&]<class T>() {
      target_before_norm(run, rules, norm, hidden, inner_norm_.values<T>(run), inner, inner);
    });
  }
  const View of_gate = run.view(hidden.shape, x.element), of_up = run.view(hidden.shape, x.element);
  gated_gap(run, rules, gate, up, inner, of_gate, of_up);
  linear_target(run, rules, x, gate_, gate_bias_, of_gate, d, block);
  linear_target(run, rules, x, up_, up_bias_, of_up, d, block, true);
  close_targets(run, rules, std::array<const Weight*, 2>{&gate_, &up_}, x, d);
}

// Carries the hidden gap through the product act(gate) * up: for the gap of one factor, the other factor counts as
// fixed.
void Swiglu::gated_gap(const Run& run, const TweenRules& rules, const ConstView& gate, const ConstView& up,
                       const View& hidden, const View& of_gate, const View& of_up) const {
  activate(run, config_.activation, gate, of_gate);
  if (rules.secant) {
    multiply(run, hidden, of_gate, of_up);
    multiply(run, hidden, up, of_gate);
    return target_before_activation(run, rules, config_.activation, gate, of_gate, of_gate);
  }
  signed_gap(run, of_gate, hidden, of_up);
  signed_gap(run, up, hidden, of_gate);
}

// Factors of engine W-23.
double Swiglu::tween_factor(const Weight& weight) const { return &weight == &inner_norm_ ? kNormFactor : 0.1; }

}  // namespace loom
