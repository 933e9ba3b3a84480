#include "layers/layernorm/layernorm.h"

#include <array>

#include "layers/channels.h"
#include "layers/norm_eps.h"
#include "layers/tween.h"

namespace loom {

void LayerNorm::fields(FieldVisitor& visit) {
  visit("input_height|output_height", config_.input_height, {1});
  visit("eps", config_.eps);
  visit("bias", config_.bias);
}

Result<void> LayerNorm::build() {
  LOOM_TRY_VOID(check_eps(kind(), "eps", config_.eps));
  LOOM_TRY_VOID(gamma_.declare("gamma", WeightRole::TypedVector, std::array{config_.input_height}, {WeightInit::Rule::Ones}));
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

void LayerNorm::forward(const Exec& exec, const Pass& pass, const ConstView& x, const View& y) const {
  const ArenaScope scope(exec.arena);
  with_element(x.element,
               [&]<class T>() { layer_norm(exec, x, gamma_.values<T>(exec), config_.bias ? beta_.values<T>(exec) : nullptr, config_.eps, y); });
  if (pass.keeps()) pass.tape->push(x);
}

void LayerNorm::backward(const Exec& exec, const Pass& pass, const ConstView& dy, const View& dx) const {
  const ArenaScope scope(exec.arena);
  const ConstView x = pass.tape->pop();
  const View xh = exec.arena.view(x.shape, x.element);
  const ChannelShape rows{x.shape.rows(), x.shape.cols(), 1};
  with_element(x.element, [&]<class T>() {
    const T* const gamma = gamma_.values<T>(exec);
    layer_norm_backward(exec, x, gamma, config_.eps, dy, xh, dx);
    target_before_norm(exec, pass, {.shape = rows, .centred = true, .eps = config_.eps}, x, gamma, dy, dx);
  });
  add_gain_gradients(exec, pass, rows, dy, xh, gamma_, beta_, rows_of_block(x.shape));
}

}  // namespace loom
