#include "layers/rmsnorm/rmsnorm.h"

#include <array>

#include "layers/channels.h"
#include "layers/norm_eps.h"
#include "layers/tween.h"

namespace loom {

constinit const LayerKind RmsNorm::kKind{
    .id = 3,
    .name = "rmsnorm",
    .help = "y = x / sqrt(mean of x^2 + rms_norm_eps) * (gamma + weight_offset), row by row",
    .shapes = "[..., normalized_shape] -> the same shape",
    .make = make_layer<RmsNorm>,
    .width_key = "input_height",
    .fit = fit};

LayerPtr RmsNorm::fit(const FitRequest& r) {
  return std::make_unique<RmsNorm>(RmsNormConfig{.input_height = r.width()});
}

void RmsNorm::fields(FieldVisitor& visit) {
  visit({"input_height|output_height|normalized_shape", "Required. Features of a row"}, config_.input_height, {1});
  visit({"rms_norm_eps|eps", "Added to the mean square under the root, 0 to 1"}, config_.rms_norm_eps);
  visit({"weight_offset", "Added to gamma; 1 for checkpoints that keep gamma - 1"}, config_.weight_offset);
}

Result<void> RmsNorm::build() {
  LOOM_TRY_VOID(check_eps(kind(), "rms_norm_eps", config_.rms_norm_eps));
  return gamma_.declare("gamma", WeightRole::TypedVector, std::array{config_.input_height}, {WeightInit::Rule::Ones});
}

Result<Shape> RmsNorm::output_shape(const Shape& input) const {
  if (input.cols() != config_.input_height)
    return fail(Code::ShapeMismatch, "rmsnorm: {} input features, gamma has {}", input.cols(), config_.input_height);
  return input;
}

template <class T>
const T* RmsNorm::gains(const Exec& exec) const {
  const T* gamma = gamma_.values<T>(exec);
  if (config_.weight_offset == 0) return gamma;
  T* sums = exec.arena.take<T>(config_.input_height);
  offset_gains(exec, gamma, config_.weight_offset, config_.input_height, element_of<T>, sums);
  return sums;
}

void RmsNorm::forward(const Run& run, const ConstView& x, const View& y) const {
  const ArenaScope scope(run.arena());
  with_element(x.element, [&]<class T>() { rms_norm(run, x, gains<T>(run), config_.rms_norm_eps, y); });
  run.save(x);
}

void RmsNorm::backward(const Run& run, const ConstView& dy, const View& dx) const {
  const ArenaScope scope(run.arena());
  const ConstView x = run.saved();
  const View xh = run.view(x.shape, x.element);
  const ChannelShape rows{x.shape.rows(), x.shape.cols(), 1};
  with_element(x.element, [&]<class T>() {
    const T* const gamma = gains<T>(run);
    rms_norm_backward(run, x, gamma, config_.rms_norm_eps, dy, xh, dx);
  });
  add_gain_gradients(run, rows, dy, xh, gamma_, {}, rows_of_block(x.shape));
}

// The gains take products of gaps as they take those of gradients; the input's gap follows a rule of its own.
void RmsNorm::target(const Run& run, const TweenRules& rules, const ConstView& e, const View& d) const {
  const ConstView x = run.tape->last();
  backward(run, e, d);
  const ArenaScope scope(run.arena());
  with_element(x.element, [&]<class T>() {
    target_before_norm(run, rules, {.shape = {x.shape.rows(), x.shape.cols(), 1}, .eps = config_.rms_norm_eps}, x,
                       gains<T>(run), e, d);
  });
}

}  // namespace loom
