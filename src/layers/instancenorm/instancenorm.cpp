#include "layers/instancenorm/instancenorm.h"

#include <array>

#include "layers/channels.h"
#include "layers/lengths.h"
#include "layers/norm_eps.h"
#include "layers/tween.h"
#include "ops/elementwise/elementwise.h"

namespace loom {

constinit const LayerKind InstanceNorm::kKind{
    .id = 31,
    .name = "instancenorm",
    .help = "y = (x - mean) / sqrt(variance + eps) * gamma + beta, over the positions of a channel of a sample",
    .shapes = "[B, channels, positions...] -> the same shape",
    .make = make_layer<InstanceNorm>,
    .width_key = "input_height"};

void InstanceNorm::fields(FieldVisitor& visit) {
  visit({"input_height|output_height|num_features|channels", "Required. Channels: axis 1 of the input"},
        config_.input_height, {1});
  visit({"eps", "Added to the variance under the root, 0 to 1"}, config_.eps);
  visit({"affine", "Has a gain gamma and a shift beta for each channel"}, config_.affine);
}

Result<void> InstanceNorm::build() {
  LOOM_TRY_VOID(check_eps(kind(), "eps", config_.eps));
  if (!config_.affine) return {};
  LOOM_TRY_VOID(
      gamma_.declare("gamma", WeightRole::TypedVector, std::array{config_.input_height}, {WeightInit::Rule::Ones}));
  return beta_.declare("beta", WeightRole::TypedVector, std::array{config_.input_height});
}

void InstanceNorm::visit_weights(const std::function<void(Weight&)>& visit) {
  if (!config_.affine) return;
  visit(gamma_);
  visit(beta_);
}

Result<Shape> InstanceNorm::output_shape(const Shape& input) const {
  if (input.rank() < 3 || input[1] != config_.input_height)
    return fail(Code::ShapeMismatch, "instancenorm: an input of shape {}, expected [B, {}, positions...]", input.text(),
                config_.input_height);
  return input;
}

const void* InstanceNorm::gains(const Run& run, Element element) const {
  return with_element(element, [&]<class T>() -> const void* {
    if (config_.affine) return gamma_.values<T>(run);
    const Tensor ones = run.tensor(1, config_.input_height, element);
    fill(run, ones, 1);
    return ones.data;
  });
}

void InstanceNorm::forward(const Run& run, const ConstView& x, const View& y) const {
  if (refuses_lengths(run, kind())) return;
  const ArenaScope scope(run.arena());
  with_element(x.element, [&]<class T>() {
    const void* const beta = config_.affine ? beta_.values<T>(run) : nullptr;
    group_norm(run, x, channels_of(x.shape), config_.input_height, gains(run, x.element), beta, config_.eps, y);
  });
  run.save(x);
}

void InstanceNorm::backward(const Run& run, const ConstView& dy, const View& dx) const {
  const ArenaScope scope(run.arena());
  const ConstView x = run.saved();
  const ChannelShape channels = channels_of(x.shape);
  const View xh = run.view(x.shape, x.element);
  group_norm_backward(run, x, channels, config_.input_height, gains(run, x.element), config_.eps, dy, xh, dx);
  if (config_.affine) add_gain_gradients(run, channels, dy, xh, gamma_, beta_, 16);
}

// Gains and shifts take products of gaps as they take those of gradients; the input's gap follows a rule of its own.
void InstanceNorm::target(const Run& run, const TweenRules& rules, const ConstView& e, const View& d) const {
  const ConstView x = run.tape->last();
  backward(run, e, d);
  const ArenaScope scope(run.arena());
  const NormGap norm{
      .shape = channels_of(x.shape), .groups = config_.input_height, .centred = true, .eps = config_.eps};
  target_before_norm(run, rules, norm, x, gains(run, x.element), e, d);
}

}  // namespace loom
