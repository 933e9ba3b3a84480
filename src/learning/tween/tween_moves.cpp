// This file moves the weights in a step of target propagation. During the pass everything that depends on values (how
// well a cell agrees with its target, whether it moves at all, at what rate) stays in small tensors; the host learns of
// it when all weights have moved, or none where something was not finite.

#include <algorithm>
#include <cmath>

#include "learning/names.h"
#include "learning/tween/tween.h"
#include "learning/names.h"
#include "learning/tween/tween_descent.h"
#include "ops/velocity/velocity.h"

namespace loom {
namespace {

constexpr double kMostDepth = 8;

}  // namespace

Result<void> TweenSession::begin_step() {
  records_.error.reset();
  records_.metrics.clear(), records_.order.clear(), records_.moves.clear(), records_.losses.clear();
  records_.figures.clear();
  loss_ = 0;
  for (WeightState& weight : trained_.weights)
    weight.collects = false, weight.touched = false, weight.rate = {}, weight.figures = {};
  LOOM_TRY(records_.failed, records_.figures.take(1, 1, Element::f32));
  const Exec exec = work(arena_);
  fill_zero(exec, records_.failed);
  keep_error(exec);
  return {};
}

Result<void> TweenSession::fetch() {
  if (records_.error) return tl::make_unexpected(*std::move(records_.error));
  records_.figures.fetch();
  return device_ == nullptr ? Result<void>() : device_->check();
}

Tensor TweenSession::small_tensor(std::size_t count, Element element) {
  Result<Tensor> taken = records_.figures.take(1, count, element);
  if (taken) return *taken;
  records_.error = std::move(taken).error();
  return {nullptr, 1, count, element};
}

void TweenSession::after_backward(const Layer& layer, const ConstView& dy, ConstTensor branch_rate) {
  const auto found = trained_.find(layer);
  if (!found || records_.error) return;
  std::size_t u = records_.uses.size();
  while (u > 0 && (records_.uses[u - 1].done || records_.uses[u - 1].layer != *found)) --u;
  if (u-- == 0) return;
  Use& use = records_.uses[u];
  use.done = true;
  use.figures = small_tensor(kGapFigures, output_.element);
  if (records_.error) return;
  records_.metrics.resize(std::max(records_.metrics.size(), records_.uses.size()));
  const bool is_cell = records_.current > 0 && trained_.executed[records_.current - 1] == &layer;
  records_.metrics[u].path = &trained_.layers[use.layer].path,
  records_.metrics[u].cell = records_.current == 0 ? 0 : records_.current - 1, records_.metrics[u].is_cell = is_cell;
  records_.order.push_back(u);
  const LayerState& state = trained_.layers[use.layer];
  if (is_cell) --records_.current;
  if (has_feedback()) return measure(u, dy);  // the optimiser takes all weights at once
  std::vector<const void*>& products = records_.products;
  products.clear();
  for (const Weight* w : state.named) products.push_back(collected().written(*w) ? collected().of(*w) : nullptr);
  if (records_.fused) {
    use.branch_rate = branch_rate;
    measure(u, dy);
    move(u, products);
  } else {
    if (branch_rate.data != nullptr) {
      const Tensor kept = small_tensor(1, branch_rate.element);
      if (records_.error) return;
      const Exec exec = work(arena_);
      copy(exec, branch_rate, kept);
      keep_error(exec);
      use.branch_rate = kept;
    }
    const auto held = [](const void* from, std::size_t bytes) {
      const auto* first = static_cast<const std::byte*>(from);
      return first == nullptr ? std::vector<std::byte>() : std::vector<std::byte>(first, first + bytes);
    };
    use.gap = held(dy.data, dy.shape.elements() * bytes_of(dy.element)), use.gap_shape = dy.shape;
    for (std::size_t i = 0; i < products.size(); ++i)
      use.products.push_back(held(products[i], state.named[i]->elements() * bytes_of(dy.element)));
  }
  for (const Weight* w : state.named) collected().clear(*w);
}

// In chain mode the target of a hidden cell is t = y + gradient_scale * e, clamped to +-activation_clamp; else t = y +
// e.
void TweenSession::measure(std::size_t u, const ConstView& gap) {
  const TweenUse& metrics = records_.metrics[u];
  const bool is_output = metrics.is_cell && metrics.cell + 1 == trained_.executed.size(),
             scaled = mode_ == TweenMode::Chain && !is_output;
  const Aim aim{scaled ? config_.gradient_scale : 1, scaled ? config_.activation_clamp : 0, config_.budget_threshold};
  with_scratch([&](const Exec& exec) {
    gap_figures(exec, records_.uses[u].y, gap, aim, records_.uses[u].figures, records_.failed);
  });
}

// rate * depth * rate_scale / rows, with depth = min(depth_scale_factor^(cells to the output), 8) in chain mode and
// with depth_scale_layerwise, else 1; outside chain mode times the kind's factor of the weight. move_rate() multiplies
// by the budget and the rate of the branch.
double TweenSession::base_rate(const Use& use, const TweenUse& metrics, const Weight& weight) const {
  const LayerState& state = trained_.layers[use.layer];
  double depth = 1;
  if (mode_ == TweenMode::Chain || config_.depth_scale_layerwise)
    depth = std::min(whole_power(config_.depth_scale_factor, trained_.executed.size() - 1 - metrics.cell), kMostDepth);
  const double rate = records_.rate * depth * state.rate_scale;
  if (mode_ == TweenMode::Chain) return rate / static_cast<double>(output_.shape.rows());
  const double factor = weight.role() == WeightRole::Adapter ? 1 : state.layer->tween_factor(weight);
  return rate * factor / static_cast<double>(state.layer->tween_rows(use.x.shape, use.y.shape));
}

// Figures are in the element type of activations, the rate of a weight in that of its master.
void TweenSession::set_rate(const Exec& exec, const Use& use, double base, Tensor rate) {
  if (rate.element == use.figures.element) return move_rate(exec, base, use.figures, use.branch_rate, rate);
  const Tensor own = exec.arena.tensor(1, kRateEntries, use.figures.element);
  move_rate(exec, base, use.figures, use.branch_rate, own);
  convert(exec, own, rate);
}

ConstTensor TweenSession::product_of(const Exec& exec, const WeightState& weight, const void* product) const {
  const std::size_t n = weight.weight->elements();
  const Element element = trained_.velocities[weight.velocity].values.element;
  const ConstTensor given{product, 1, n, output_.element};
  if (element == output_.element) return given;
  const Tensor own = exec.arena.tensor(1, n, element);
  convert(exec, given, own);
  return own;
}

void TweenSession::move(std::size_t u, std::span<const void* const> products) {
  const Use& use = records_.uses[u];
  const LayerState& state = trained_.layers[use.layer];
  if (!state.trainable) return;
  for (std::size_t i = 0; i < products.size() && !records_.error; ++i) {
    if (products[i] == nullptr) continue;
    const std::size_t slot = state.weights[i];
    WeightState& weight = trained_.weights[slot];
    const Element element = trained_.velocities[weight.velocity].values.element;
    const Tensor rate = small_tensor(kRateEntries, element),
                 figures = weight.is_shared ? Tensor{} : small_tensor(kVelocityFigures, element);
    if (weight.is_shared && !weight.collects) collect_products(weight);
    if (records_.error) return;
    records_.moves.push_back({u, slot, rate, figures});
    if (!weight.is_shared) touch(weight, rate, figures);
    const double base = base_rate(use, records_.metrics[u], *state.named[i]);
    with_scratch([&](const Exec& exec) {
      set_rate(exec, use, base, rate);
      const ConstTensor product = product_of(exec, weight, products[i]);
      weight.is_shared ? add_to_pending(exec, weight, rate, product) : move_velocity(exec, weight, product);
    });
  }
}

// A shared weight sums rate * products over its uses and moves once, in finish_shared() (W-31): at a rate of 1, as the
// sum holds those of its uses.
void TweenSession::collect_products(WeightState& weight) {
  const Tensor& v = trained_.velocities[weight.velocity].values;
  weight.collects = true, weight.rate = small_tensor(kRateEntries, v.element);
  if (records_.error) return;
  const Exec exec = work(arena_);
  fill_zero(exec, weight.rate);
  fill(exec, Tensor{weight.rate.data, 1, 1, v.element}, 1);
  fill_zero(exec, {weight.pending.data(), 1, v.cols, v.element});
  keep_error(exec);
}

void TweenSession::add_to_pending(const Exec& exec, WeightState& weight, ConstTensor rate, ConstTensor product) {
  const Tensor& v = trained_.velocities[weight.velocity].values;
  const Tensor takes_part{static_cast<std::byte*>(weight.rate.data) + kTakesPart * bytes_of(v.element), 1, 1,
                          v.element};
  add_products(exec, rate, product, {weight.pending.data(), 1, v.cols, v.element}, takes_part);
}

// The velocity of a weight is about to move.
void TweenSession::touch(WeightState& weight, Tensor rate, Tensor figures) {
  const Tensor& v = trained_.velocities[weight.velocity].values;
  weight.touched = true, weight.rate = rate, weight.figures = figures;
  if (weight.before.size() == 0) return;
  const Exec exec = work(arena_);
  copy(exec, v, {weight.before.data(), 1, v.cols, v.element});
  keep_error(exec);
}

// v = momentum v + (1 - momentum) rate g; commit() adds v to the master.
void TweenSession::move_velocity(const Exec& exec, WeightState& weight, ConstTensor product) {
  velocity(exec, {config_.momentum, 1 - config_.momentum}, weight.rate, product, weight.weight->master_for_update(exec),
           trained_.velocities[weight.velocity].values, weight.figures, records_.failed);
}

void TweenSession::finish_shared() {
  for (WeightState& weight : trained_.weights) {
    if (!std::exchange(weight.collects, false) || records_.error) continue;
    const Tensor& v = trained_.velocities[weight.velocity].values;
    const Tensor figures = small_tensor(kVelocityFigures, v.element);
    if (records_.error) return;
    touch(weight, weight.rate, figures);
    with_scratch([&](const Exec& exec) { move_velocity(exec, weight, {weight.pending.data(), 1, v.cols, v.element}); });
  }
}

void TweenSession::move_weights() {
  const Exec exec = work(arena_);
  for (const WeightState& state : trained_.weights)
    if (state.touched)
      add_velocity(exec, state.rate, state.figures, records_.failed, trained_.velocities[state.velocity].values,
                   state.limit.value_or(0), state.weight->master_for_update(exec));
  keep_error(exec);
}

Result<void> TweenSession::read_loss() {
  loss_ = 0;
  for (const PendingLoss& loss : records_.losses) loss_ += loss.value(records_.figures).value;
  if (std::isfinite(loss_) || records_.figures.at(records_.failed) == 0) return {};
  return fail(Code::NonFinite, "tween: the loss is {}", loss_);
}

Result<void> TweenSession::read_gaps() {
  for (const std::size_t u : records_.order) {
    TweenUse& to = records_.metrics[u];
    const auto figure = [&](GapFigure which) { return records_.figures.at(records_.uses[u].figures, which); };
    to.budget = figure(kBudget), to.gap = figure(kGapSize), to.skipped = figure(kMoves) == 0;
    if (to.is_cell && to.cell + 1 == trained_.executed.size()) output_gap_ = to.gap;
    if (!std::isfinite(to.gap)) return fail(Code::NonFinite, "tween: {}: the gap is not finite", *to.path);
  }
  return {};
}

Result<void> TweenSession::read_moves() {
  const auto check = [&](const WeightState& weight, const ConstTensor& figures) -> Result<void> {
    if (records_.figures.at(figures, kNotFinite) == 0 && std::isfinite(records_.figures.at(figures, kSquares)))
      return {};
    return fail(Code::NonFinite, "tween: {}: the update is not finite", trained_.velocities[weight.velocity].path);
  };
  for (WeightState& weight : trained_.weights) weight.last_use = records_.uses.size();
  for (const Move& made : records_.moves) {
    WeightState& weight = trained_.weights[made.slot];
    if (weight.is_shared) {
      if (records_.figures.at(made.rate, kTakesPart) != 0) weight.last_use = made.use;
      continue;
    }
    LOOM_TRY_VOID(check(weight, made.figures));
    records_.metrics[made.use].update_norm += records_.figures.at(made.figures, kSquares);
  }
  for (TweenUse& use : records_.metrics) use.update_norm = std::sqrt(use.update_norm);
  for (const WeightState& weight : trained_.weights) {
    if (!weight.is_shared || !weight.touched || weight.last_use == records_.uses.size()) continue;
    LOOM_TRY_VOID(check(weight, weight.figures));
    double& norm = records_.metrics[weight.last_use].update_norm;
    norm = std::sqrt(norm * norm + records_.figures.at(weight.figures, kSquares));
  }
  if (records_.figures.at(records_.failed) != 0) return fail(Code::NonFinite, "tween: the step is not finite");
  return {};
}

Result<void> TweenSession::commit() {
  for (WeightState& state : trained_.weights) {
    if (!std::exchange(state.touched, false) || records_.figures.at(state.figures, kSquares) == 0) continue;
    const Exec exec = work(arena_);
    auto done = state.weight->commit_update(exec);
    if (done) continue;
    // A float64 master that a smaller type cannot hold. It has moved, so this is no step to skip: training ends.
    if (done.error().code == Code::NonFinite)
      return fail(Code::OutOfRange, "tween: {}: training diverged: {} holds no such number",
                  trained_.velocities[state.velocity].path, name(state.weight->dtype()));
    return at("tween: " + trained_.velocities[state.velocity].path, std::move(done).error());
  }
  return {};
}

// A step that was cancelled leaves no trace; one that was not finite lets its velocities restart, unless they were kept
// for it.
void TweenSession::roll_back(Code why) {
  if (has_feedback()) return descent_->put_back(session_->pool());
  records_.figures.fetch();
  for (WeightState& state : trained_.weights) {
    state.collects = false;
    if (!std::exchange(state.touched, false)) continue;
    if (why != Code::Cancelled && records_.figures.at(state.rate, kTakesPart) == 0) continue;
    const bool is_kept = state.before.size() != 0 && (why == Code::Cancelled || config_.undo_velocities);
    is_kept ? state.memory.copy(0, state.before, 0, state.memory.size()) : state.memory.clear();
  }
}

// The end of a step, after every cell has had its turn.
Result<void> TweenSession::finish() {
  if (!has_feedback()) finish_shared(), move_weights();
  LOOM_TRY_VOID(fetch());
  if (records_.fused) LOOM_TRY_VOID(read_loss());  // else backward() has: sample weights need not live longer
  LOOM_TRY_VOID(read_gaps());
  if (has_feedback()) return optimise();
  LOOM_TRY_VOID(read_moves());
  return commit();
}

}  // namespace loom
