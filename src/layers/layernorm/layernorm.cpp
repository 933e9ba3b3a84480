#include "layers/layernorm/layernorm.h"

#include <array>

#include "layers/channels.h"
#include "layers/norm_eps.h"
#include "layers/tween.h"

namespace loom {

constinit const LayerKind LayerNorm::kKind{.id = 9,
                                           .name = "layernorm",
                                           .help = "y = (x - mean) / sqrt(variance + eps) * gamma + beta, row by row",
                                           .shapes = "[..., normalized_shape] -> the same shape",
                                           .make = make_layer<LayerNorm>,
                                           .width_key = "input_height",
                                           .fit = fit};

LayerPtr LayerNorm::fit(const FitRequest& r) {
  return std::make_unique<LayerNorm>(LayerNormConfig{.input_height = r.width()});
}

void LayerNorm::fields(FieldVisitor& visit) {
  visit({"input_height|output_height|normalized_shape", "Required. Features of a row"}, config_.input_height, {1});
  visit({"eps", "Added to the variance under the root, 0 to 1"}, config_.eps);
  visit({"bias", "Has the shift beta"}, config_.bias);
}

Result<void> LayerNorm::build() {
  LOOM_TRY_VOID(check_eps(kind(), "eps", config_.eps));
  LOOM_TRY_VOID(
      gamma_.declare("gamma", WeightRole::TypedVector, std::array{config_.input_height}, {WeightInit::Rule::Ones}));
  if (config_.bias) {
    LOOM_TRY_VOID(beta_.declare("beta", WeightRole::TypedVector, std::array{config_.input_height}));
  }
  return {};
}

void LayerNorm::visit_weights(const std::function<void(Weight&)>& visit) {
  visit(gamma_);
  if (config_.bias) visit(beta_);
}

Result<Shape> LayerNorm::output_shape(const Shape& input) const {
  if (input.cols() != config_.input_height)
    return fail(Code::ShapeMismatch, "layernorm: {} input features, gamma has {}", input.cols(), config_.input_height);
  return input;
}

void LayerNorm::forward(const Run& run, const ConstView& x, const View& y) const {
  const ArenaScope scope(run.arena());
  with_element(x.element, [&]<class T>() {
    layer_norm(run, x, gamma_.values<T>(run), config_.bias ? beta_.values<T>(run) : nullptr, config_.eps, y);
  });
  run.save(x);
}

void LayerNorm::backward(const Run& run, const ConstView& dy, const View& dx) const {
  const ArenaScope scope(run.arena());
  const ConstView x = run.saved();
  const View xh = run.view(x.shape, x.element);
  const ChannelShape rows{x.shape.rows(), x.shape.cols(), 1};
  with_element(x.element, [&]<class T>() {
    const T* const gamma = gamma_.values<T>(run);
    layer_norm_backward(run, x, gamma, config_.eps, dy, xh, dx);
  });
  add_gain_gradients(run, rows, dy, xh, gamma_, beta_, rows_of_block(x.shape));
}

// Gains and shifts take products of gaps as they take those of gradients; the input's gap follows a rule of its own.
void LayerNorm::target(const Run& run, const TweenRules& rules, const ConstView& e, const View& d) const {
  const ConstView x = run.tape->last();
  backward(run, e, d);
  const ArenaScope scope(run.arena());
  with_element(x.element, [&]<class T>() {
    target_before_norm(run, rules, {.shape = {x.shape.rows(), x.shape.cols(), 1}, .centred = true, .eps = config_.eps},
                       x, gamma_.values<T>(run), e, d);
  });
}

}  // namespace loom
