#include "layers/dense/dense.h"

#include "layers/activation_fields.h"
#include "layers/tween.h"

namespace loom {

constinit const LayerKind Dense::kKind{.id = 0,
                                       .name = "dense",
                                       .aliases = "linear",
                                       .help = "y = act(W x + b)",
                                       .shapes = "[..., in_features] -> [..., out_features]",
                                       .make = make_layer<Dense>,
                                       .width_key = "input_height",
                                       .is_linear_map = true,
                                       .fit = fit};

LayerPtr Dense::fit(const FitRequest& r) {
  return std::make_unique<Dense>(DenseConfig{
      .input_height = r.width(), .output_height = r.wanted_width(), .bias = true, .activation = r.activation});
}

void Dense::fields(FieldVisitor& visit) {
  visit({"input_height|input_size|in_features", "Required. Features of the input: columns of W"}, config_.input_height,
        {1});
  visit({"output_height|output_size|out_features", "Required. Features of the output: rows of W"},
        config_.output_height, {1});
  visit({"bias", "Adds b"}, config_.bias);
  visit({"tied_to", "Path or address of an embedding whose table is W, as in heads of language models"},
        config_.tied_to);
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

void Dense::forward(const Run& run, const ConstView& x, const View& y) const {
  // The derivative is taken at the sum before the activation.
  const View sum = run.keeps() && !config_.activation.is_linear() ? run.view(y.shape, y.element) : y;
  linear(run, x, weight_, bias_, sum);
  if (!config_.activation.is_linear()) activate(run, config_.activation, sum, y);
  run.save(x, sum);
}

void Dense::backward(const Run& run, const ConstView& dy, const View& dx) const {
  const ArenaScope scope(run.arena());
  const auto [x, sum] = run.saved<2>();
  ConstView g = dy;
  if (!config_.activation.is_linear()) {
    const View slope = run.view(dy.shape, dy.element);
    activate_backward(run, config_.activation, sum, dy, slope);
    g = slope;
  }
  linear_backward(run, x, weight_, bias_, g, dx, rows_of_block(x.shape));
}

void Dense::target(const Run& run, const TweenRules& rules, const ConstView& e, const View& d) const {
  const ArenaScope scope(run.arena());
  const auto [x, sum] = run.saved<2>();
  ConstView g = e;
  if (!config_.activation.is_linear()) {
    const View before = run.view(e.shape, e.element);
    target_before_activation(run, rules, config_.activation, sum, e, before);
    g = before;
  }
  ConstTensor y = sum;
  if (rules.averages) {
    const Tensor active = run.view(e.shape, e.element);
    activate(run, config_.activation, sum, active);
    y = active;
  }
  linear_target(run, rules, x, weight_, bias_, g, d, rows_of_block(x.shape), false, &y);
  close_targets(run, rules, weight_, x, d);
}

}  // namespace loom
