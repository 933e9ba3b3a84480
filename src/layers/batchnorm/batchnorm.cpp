#include "layers/batchnorm/batchnorm.h"

#include <array>

#include "layers/channels.h"
#include "layers/lengths.h"
#include "layers/norm_eps.h"
#include "layers/tween.h"
#include "ops/elementwise/elementwise.h"

namespace loom {

constinit const LayerKind BatchNorm::kKind{.id = 25,
                                           .name = "batchnorm",
                                           .help =
                                               "y = (x - mean) / sqrt(variance + eps) * gamma + beta by channel: of "
                                               "the batch in training, else running values",
                                           .shapes = "[B, channels, ...] -> the same shape",
                                           .make = make_layer<BatchNorm>,
                                           .width_key = "input_height"};

void BatchNorm::fields(FieldVisitor& visit) {
  visit({"input_height|output_height|num_features|channels", "Required. Channels: axis 1 of the input"},
        config_.input_height, {1});
  visit({"momentum", "Share of the batch when running mean and variance move in training, 0 to 1"}, config_.momentum);
  visit({"eps", "Added to the variance under the root, 0 to 1"}, config_.eps);
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

Result<Shape> BatchNorm::output_shape(const Shape& input) const {
  return check_channels(kind(), input, config_.input_height);
}

void BatchNorm::forward(const Run& run, const ConstView& x, const View& y) const {
  const ArenaScope scope(run.arena(), run.keeps());
  const ChannelShape s = channels_of(x.shape);
  if (run.training && refuses_lengths(run, kind(), s.samples * s.positions)) return;
  const std::size_t c = s.channels;
  const Tensor mean = run.tensor(1, c, x.element), deviation = run.tensor(1, c, x.element),
               variance = run.tensor(1, c, x.element);
  with_element(x.element, [&]<class T>() {
    const T *running_mean = running_mean_.values<T>(run), *running_var = running_var_.values<T>(run);
    if (run.training) {
      channel_statistics(run, x, s, config_.eps, {mean.data, variance.data, deviation.data});
      if (run.statistics != nullptr) {
        const auto n = static_cast<double>(s.samples * s.positions);
        const double m = config_.momentum, unbiased = n > 1 ? n / (n - 1) : 1;
        const auto move = [&](const Weight& running, const void* before, const void* measured, double share) {
          const void* const latest = run.statistics->latest(running);
          blend(run, latest != nullptr ? latest : before, 1 - m, measured, share, c, x.element,
                run.statistics->put(run, running, x.element));
        };
        move(running_mean_, running_mean, mean.data, m);
        move(running_var_, running_var, variance.data, m * unbiased);
      }
    } else {
      copy(run, {running_mean, 1, c, x.element}, mean);
      channel_deviations(run, running_var, config_.eps, c, x.element, deviation.data);
    }
    batch_norm(run, x, s, mean.data, deviation.data, gamma_.values<T>(run), beta_.values<T>(run), y);
  });
  run.save(x, ConstView{mean.data, Shape::of({c}), x.element}, ConstView{deviation.data, Shape::of({c}), x.element});
}

// xh = the normalised input, which the gradients of gamma and beta are taken with.
void BatchNorm::add_gains(const Run& run, const ConstView& x, const ConstView& mean, const ConstView& deviation,
                          const ConstView& dy, const View& xh) const {
  const ChannelShape s = channels_of(x.shape);
  batch_norm(run, x, s, mean.data, deviation.data, nullptr, nullptr, xh);
  add_gain_gradients(run, s, dy, xh, gamma_, beta_, 16);
}

void BatchNorm::backward(const Run& run, const ConstView& dy, const View& dx) const {
  const ArenaScope scope(run.arena());
  const auto [x, mean, deviation] = run.saved<3>();
  const ChannelShape s = channels_of(x.shape);
  const View xh = run.view(x.shape, x.element);
  add_gains(run, x, mean, deviation, dy, xh);
  if (dx.data == nullptr) return;
  const View mean_dy = run.view(mean.shape, x.element), mean_dot = run.view(mean.shape, x.element);
  // A batch's own statistics move with x; the running ones do not.
  if (run.training) {
    fill_zero(run, mean_dy), fill_zero(run, mean_dot);
    add_both_channel_sums(run, s, dy, xh, 0, mean_dot.data, mean_dy.data);
    for (const View& to : {mean_dy, mean_dot}) scale(run, to, 1 / static_cast<double>(s.samples * s.positions), to);
  }
  with_element(x.element, [&]<class T>() {
    batch_norm_backward(run, dy, xh, s, gamma_.values<T>(run), deviation.data, run.training ? mean_dy.data : nullptr,
                        run.training ? mean_dot.data : nullptr, dx);
  });
}

void BatchNorm::target(const Run& run, const TweenRules& rules, const ConstView& e, const View& d) const {
  const ArenaScope scope(run.arena());
  const auto [x, mean, deviation] = run.saved<3>();
  add_gains(run, x, mean, deviation, e, run.view(x.shape, x.element));
  with_element(x.element, [&]<class T>() {
    target_before_norm(run, rules, {.shape = channels_of(x.shape), .deviation = deviation.data}, x,
                       gamma_.values<T>(run), e, d);
  });
}

}  // namespace loom
