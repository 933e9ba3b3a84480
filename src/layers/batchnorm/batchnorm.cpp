#include "layers/batchnorm/batchnorm.h"

#include <array>

#include "layers/channels.h"
#include "layers/norm_eps.h"
#include "layers/tween.h"
#include "ops/elementwise/elementwise.h"

namespace loom {

void BatchNorm::fields(FieldVisitor& visit) {
  visit("input_height|output_height", config_.input_height, {1});
  visit("momentum", config_.momentum);
  visit("eps", config_.eps);
}

Result<void> BatchNorm::build() {
  LOOM_TRY_VOID(check_eps(kind(), "eps", config_.eps));
  if (!(config_.momentum >= 0 && config_.momentum <= 1))
    return fail(Code::InvalidConfig, "batchnorm: momentum {}, 0 to 1 expected", config_.momentum);
  const std::array extents{config_.input_height};
  LOOM_TRY_VOID(gamma_.declare("gamma", WeightRole::TypedVector, extents, {WeightInit::Rule::Ones}));
  LOOM_TRY_VOID(beta_.declare("beta", WeightRole::TypedVector, extents));
  LOOM_TRY_VOID(running_mean_.declare("running_mean", WeightRole::Statistic, extents));
  return running_var_.declare("running_var", WeightRole::Statistic, extents, {WeightInit::Rule::Ones});
}

void BatchNorm::visit_weights(const std::function<void(Weight&)>& visit) {
  for (Weight* w : {&gamma_, &beta_, &running_mean_, &running_var_}) visit(*w);
}

Result<Shape> BatchNorm::output_shape(const Shape& input) const { return check_channels(kind(), input, config_.input_height); }

void BatchNorm::forward(const Exec& exec, const Pass& pass, const ConstView& x, const View& y) const {
  const ArenaScope scope(exec.arena, pass.keeps());
  const ChannelShape s = channels_of(x.shape);
  const std::size_t c = s.channels;
  const Tensor mean = exec.arena.tensor(1, c, x.element), deviation = exec.arena.tensor(1, c, x.element),
               variance = exec.arena.tensor(1, c, x.element);
  with_element(x.element, [&]<class T>() {
    const T *running_mean = running_mean_.values<T>(exec), *running_var = running_var_.values<T>(exec);
    if (pass.training) {
      channel_statistics(exec, x, s, config_.eps, {mean.data, variance.data, deviation.data});
      if (pass.statistics != nullptr) {
        const auto n = static_cast<double>(s.samples * s.positions);
        const double m = config_.momentum, unbiased = n > 1 ? n / (n - 1) : 1;
        const auto move = [&](const Weight& running, const void* before, const void* measured, double share) {
          const void* const latest = pass.statistics->latest(running);
          blend(exec, latest != nullptr ? latest : before, 1 - m, measured, share, c, x.element, pass.statistics->put(running));
        };
        move(running_mean_, running_mean, mean.data, m);
        move(running_var_, running_var, variance.data, m * unbiased);
      }
    } else {
      copy(exec, {running_mean, 1, c, x.element}, mean);
      channel_deviations(exec, running_var, config_.eps, c, x.element, deviation.data);
    }
    batch_norm(exec, x, s, mean.data, deviation.data, gamma_.values<T>(exec), beta_.values<T>(exec), y);
  });
  if (!pass.keeps()) return;
  pass.tape->push(x);
  for (const Tensor& t : {mean, deviation}) pass.tape->push({t.data, Shape::of({c}), x.element});
}

void BatchNorm::backward(const Exec& exec, const Pass& pass, const ConstView& dy, const View& dx) const {
  const ArenaScope scope(exec.arena);
  const ConstView deviation = pass.tape->pop(), mean = pass.tape->pop(), x = pass.tape->pop();
  const ChannelShape s = channels_of(x.shape);
  const View xh = exec.arena.view(x.shape, x.element);
  batch_norm(exec, x, s, mean.data, deviation.data, nullptr, nullptr, xh);
  add_gain_gradients(exec, pass, s, dy, xh, gamma_, beta_, 16);
  // A batch's own statistics move with x; the running ones do not.
  const View mean_dy = exec.arena.view(mean.shape, x.element), mean_dot = exec.arena.view(mean.shape, x.element);
  with_element(x.element, [&]<class T>() {
    const T* gamma = gamma_.values<T>(exec);
    if (dx.data == nullptr) return;
    if (pass.tween != nullptr) return target_before_norm(exec, pass, {.shape = s, .deviation = deviation.data}, x, gamma, dy, dx);
    if (!pass.training) return batch_norm_backward(exec, dy, xh, s, gamma, deviation.data, nullptr, nullptr, dx);
    const auto take_mean = [&](const ConstTensor* b, const View& to) {
      fill_zero(exec, to);
      add_channel_sums(exec, s, dy, b, 0, to.data);
      scale(exec, to, 1 / static_cast<double>(s.samples * s.positions), to);
    };
    const ConstTensor normalised = xh;
    take_mean(nullptr, mean_dy);
    take_mean(&normalised, mean_dot);
    batch_norm_backward(exec, dy, xh, s, gamma, deviation.data, mean_dy.data, mean_dot.data, dx);
  });
}

}  // namespace loom
