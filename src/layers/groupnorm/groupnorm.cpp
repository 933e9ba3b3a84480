#include "layers/groupnorm/groupnorm.h"

#include <array>

#include "layers/channels.h"
#include "layers/lengths.h"
#include "layers/norm_eps.h"
#include "layers/tween.h"

namespace loom {

constinit const LayerKind GroupNorm::kKind{
    .id = 26,
    .name = "groupnorm",
    .help = "y = (x - mean) / sqrt(variance + eps) * gamma + beta, over a group of channels of a sample",
    .shapes = "[B, channels, ...] -> the same shape",
    .make = make_layer<GroupNorm>,
    .width_key = "input_height"};

void GroupNorm::fields(FieldVisitor& visit) {
  visit({"input_height|output_height|num_channels|channels", "Required. Channels: axis 1 of the input"},
        config_.input_height, {1});
  visit({"num_groups", "Groups of channels, each with its own mean and variance; divides the channels"},
        config_.num_groups, {1});
  visit({"eps", "Added to the variance under the root, 0 to 1"}, config_.eps);
}

Result<void> GroupNorm::build() {
  LOOM_TRY_VOID(check_eps(kind(), "eps", config_.eps));
  const std::size_t channels = config_.input_height;
  if (channels % config_.num_groups != 0)
    return fail(Code::InvalidConfig, "groupnorm: {} channels in {} groups, expected a multiple", channels,
                config_.num_groups);
  LOOM_TRY_VOID(gamma_.declare("gamma", WeightRole::TypedVector, std::array{channels}, {WeightInit::Rule::Ones}));
  return beta_.declare("beta", WeightRole::TypedVector, std::array{channels});
}

void GroupNorm::visit_weights(const std::function<void(Weight&)>& visit) {
  visit(gamma_);
  visit(beta_);
}

Result<Shape> GroupNorm::output_shape(const Shape& input) const {
  return check_channels(kind(), input, config_.input_height);
}

void GroupNorm::forward(const Run& run, const ConstView& x, const View& y) const {
  if (x.shape.rank() > 2 && refuses_lengths(run, kind())) return;
  const ArenaScope scope(run.arena());
  with_element(x.element, [&]<class T>() {
    group_norm(run, x, channels_of(x.shape), config_.num_groups, gamma_.values<T>(run), beta_.values<T>(run),
               config_.eps, y);
  });
  run.save(x);
}

void GroupNorm::backward(const Run& run, const ConstView& dy, const View& dx) const {
  const ArenaScope scope(run.arena());
  const ConstView x = run.saved();
  const ChannelShape channels = channels_of(x.shape);
  const View xh = run.view(x.shape, x.element);
  with_element(x.element, [&]<class T>() {
    const T* const gamma = gamma_.values<T>(run);
    group_norm_backward(run, x, channels, config_.num_groups, gamma, config_.eps, dy, xh, dx);
  });
  add_gain_gradients(run, channels, dy, xh, gamma_, beta_, 16);
}

// Gains and shifts take products of gaps as they take those of gradients; the input's gap follows a rule of its own.
void GroupNorm::target(const Run& run, const TweenRules& rules, const ConstView& e, const View& d) const {
  const ConstView x = run.tape->last();
  backward(run, e, d);
  const ArenaScope scope(run.arena());
  const NormGap norm{.shape = channels_of(x.shape), .groups = config_.num_groups, .centred = true, .eps = config_.eps};
  with_element(x.element, [&]<class T>() { target_before_norm(run, rules, norm, x, gamma_.values<T>(run), e, d); });
}

}  // namespace loom
