#include <cmath>

#include "core/json.h"
#include "learning/tween/tween.h"
#include "learning/tween/tween_feedback.h"
#include "network/spec/spec.h"
#include "ops/elementwise/elementwise.h"
#include "ops/l2_norm/l2_norm.h"
#include "ops/noise/noise.h"

namespace loom {
namespace {

// Inputs of this layer as rows of features (positions 1) or as planes of channels.
ChannelShape channels_of_input(const Layer& layer, const Shape& x, std::size_t channels) {
  if (layer.kind_row().matrix != MatrixUse::Places) return {x.rows(), channels, 1};
  const std::size_t axes = layer.sample_rank() - 1;
  std::size_t positions = 1;
  for (std::size_t axis = x.rank() - axes; axis < x.rank(); ++axis) positions *= x[axis];
  return {x.elements() / (channels * positions), channels, positions};
}

double rows_of(const ChannelShape& x) { return static_cast<double>(x.samples * x.positions); }

}  // namespace

TweenInverse::TweenInverse(const TweenConfig& config, std::uint64_t seed, Element element)
    : TweenFeedback(config, 0.1, 0.1, seed, element), clamp_(config.activation_clamp) {}

// The model has no bias of its own, which would be one of outputs. Glorot's rule counts inputs and outputs alike, so V
// is drawn as the transposed map would be.
Result<void> TweenInverse::give_weights(Map& map, Json spec, const std::string& path) {
  Json activation{{"type", "activation"}};
  for (const char* key : {"activation", "leaky_slope", "elu_alpha", "ste"})
    if (spec.contains(key)) activation[key] = spec[key];
  LOOM_TRY(map.other, layer_from_json(activation));
  const bool places = map.layer->kind_row().matrix == MatrixUse::Places;
  // A spec leaves out what a kind sets by itself: one channel.
  const auto channels = spec.value(places ? "input_channels" : "input_height", std::size_t{1});
  spec["activation"] = "linear", spec["bias"] = false, spec["init"] = "xavier";
  LOOM_TRY(map.model, layer_from_json(spec));
  LOOM_TRY_VOID(initialise_weights(path, *map.model, seed_));
  map.model->visit_all_weights([&](Weight& w) { map.weights.push_back(&w); });
  LOOM_TRY_VOID(map.shift.declare("bias", WeightRole::Vector, std::array{channels}));
  LOOM_TRY_VOID(map.shift.morph(map.model->common.encoding));
  LOOM_TRY_VOID(map.shift.initialise({}, seed_, 0));  // zeros
  map.weights.push_back(&map.shift);
  return {};
}

// V^T u is what the model gives back of a gradient u.
void TweenInverse::reconstruct(const Exec& exec, const Map& map, const ConstView& u, const View& sum) const {
  const ArenaScope scope(exec.arena);
  Tape tape;
  tape.push({nullptr, sum.shape, element_}), tape.push({nullptr, u.shape, element_});
  Run run(exec);
  run.tape = &tape;
  map.model->backward(run, u, sum);
  // the shift by channel of a norm whose mean is 0 and whose deviation and gain are 1
  const std::size_t channels = map.shift.elements();
  const Tensor zeros = exec.arena.tensor(1, channels, element_), ones = exec.arena.tensor(1, channels, element_);
  fill_zero(exec, zeros), fill(exec, ones, 1);
  with_element(element_, [&]<class T>() {
    batch_norm(exec, sum, channels_of_input(*map.layer, sum.shape, channels), zeros.data, ones.data, ones.data,
               map.shift.values<T>(exec), sum);
  });
}

void TweenInverse::replace(const Exec& exec, const Layer& layer, const ConstView& e, const View& d) {
  Map* const map = map_of(layer);
  if (map == nullptr) return;
  map->wanted = true;
  const ArenaScope scope(exec.arena);
  ConstView y = e;
  if (!exec.rehearsal()) {
    const auto latest = seen(layer);
    if (!latest) return;
    y = latest->y;
  }
  const View target = exec.arena.view(e.shape, element_), now = exec.arena.view(d.shape, element_);
  const Run run(exec);
  add(exec, y, e, target);
  reconstruct(exec, *map, target, d);
  map->other->forward(run, d, d);
  reconstruct(exec, *map, y, now);
  map->other->forward(run, now, now);
  scale(exec, now, -1, now);
  add(exec, d, now, d);
  if (clamp_ > 0) clamp(exec, clamp_, d);
}

void TweenInverse::phase(const Exec& exec, Map& map, const Seen& seen, const RandomStream& stream) {
  const Shape& in = seen.x.shape;
  const View xn = exec.arena.view(in, element_), u = exec.arena.view(seen.y.shape, element_),
             sum = exec.arena.view(in, element_), r = exec.arena.view(in, element_);
  normal_noise(exec, noise_, stream, xn);
  add(exec, seen.x, xn, xn);
  map.layer->forward(Run(exec), xn, u);
  reconstruct(exec, map, u, sum);
  // r = act'(sum) (G(u) - xn)
  Tape tape;
  Run run(exec);
  run.tape = &tape;
  map.other->forward(run, sum, r);
  scale(exec, xn, -1, xn);
  add(exec, r, xn, r);
  map.other->backward(run, r, r);
  // The gradient of V is what the model's W would get of the input r and the gradient u.
  tape.push(r), tape.push(u);
  run.gradients = &map.gradients;
  map.model->backward(run, u, View{nullptr, in, element_});
  const ChannelShape rows = channels_of_input(*map.layer, in, map.shift.elements());
  add_channel_sums(exec, rows, r, nullptr, 16, map.gradients.of(exec, map.shift));
  // Both factors, twice over: 1 / m, where m is above 1.
  const Weight& v = *map.weights[0];
  const Tensor norm = exec.arena.tensor(1, kNormEntries, element_), clip = exec.arena.tensor(1, kClipFigures, element_);
  const std::size_t cols = v.elements() / v.rows() * v.parts();
  const double taps = static_cast<double>(cols) / static_cast<double>(rows.channels);
  l2_norm(exec, u, norm);
  clip_factors(exec, norm, std::sqrt(rows_of(rows) / taps), clip);
  const Tensor to{map.gradients.of(exec, v), v.rows(), v.cols(), element_};
  scale_by(exec, clip, to), scale_by(exec, clip, to);
}

double TweenInverse::step_of(const Map& map, const Seen& seen, const Weight& /*weight*/) const {
  return -2 * rate_ / rows_of(channels_of_input(*map.layer, seen.x.shape, map.shift.elements()));
}

}  // namespace loom
