#include "layers/groupnorm/groupnorm.h"

#include <array>

#include "layers/channels.h"
#include "layers/norm_eps.h"
#include "layers/tween.h"

namespace loom {

void GroupNorm::fields(FieldVisitor& visit) {
  visit("input_height|output_height", config_.input_height, {1});
  visit("num_groups", config_.num_groups, {1});
  visit("eps", config_.eps);
}

Result<void> GroupNorm::build() {
  LOOM_TRY_VOID(check_eps(kind(), "eps", config_.eps));
  const std::size_t channels = config_.input_height;
  if (channels % config_.num_groups != 0)
    return fail(Code::InvalidConfig, "groupnorm: {} channels in {} groups, expected a multiple", channels, config_.num_groups);
  LOOM_TRY_VOID(gamma_.declare("gamma", WeightRole::TypedVector, std::array{channels}, {WeightInit::Rule::Ones}));
  return beta_.declare("beta", WeightRole::TypedVector, std::array{channels});
}

void GroupNorm::visit_weights(const std::function<void(Weight&)>& visit) {
  visit(gamma_);
  visit(beta_);
}

Result<Shape> GroupNorm::output_shape(const Shape& input) const { return check_channels(kind(), input, config_.input_height); }

void GroupNorm::forward(const Exec& exec, const Pass& pass, const ConstView& x, const View& y) const {
  const ArenaScope scope(exec.arena);
  with_element(x.element, [&]<class T>() {
    group_norm(exec, x, channels_of(x.shape), config_.num_groups, gamma_.values<T>(exec), beta_.values<T>(exec), config_.eps, y);
  });
  if (pass.keeps()) pass.tape->push(x);
}

void GroupNorm::backward(const Exec& exec, const Pass& pass, const ConstView& dy, const View& dx) const {
  const ArenaScope scope(exec.arena);
  const ConstView x = pass.tape->pop();
  const ChannelShape channels = channels_of(x.shape);
  const View xh = exec.arena.view(x.shape, x.element);
  with_element(x.element, [&]<class T>() {
    const T* const gamma = gamma_.values<T>(exec);
    group_norm_backward(exec, x, channels, config_.num_groups, gamma, config_.eps, dy, xh, dx);
    target_before_norm(exec, pass, {.shape = channels, .groups = config_.num_groups, .centred = true, .eps = config_.eps}, x, gamma, dy, dx);
  });
  add_gain_gradients(exec, pass, channels, dy, xh, gamma_, beta_, 16);
}

}  // namespace loom
