// How a step of target propagation moves the weights. During the pass everything that depends on values (how well a cell agrees with its target,
// whether it moves at all, at what rate) stays in small tensors; read_gaps() and read_moves() are where the host learns of it.

#include <algorithm>
#include <cmath>
#include <cstring>

#include "learning/tween/tween.h"
#include "ops/velocity/velocity.h"

namespace loom {
namespace {

constexpr double kMostDepth = 8;

}  // namespace

void TweenSession::begin_step() {
  error_.reset();
  metrics_.clear(), order_.clear(), moves_.clear();
  small_used_ = 0;
  for (WeightState& weight : weights_) weight.collects = false, weight.touched = false, weight.rate = {}, weight.figures = {};
}

Tensor TweenSession::small_tensor(std::size_t count, Element element) {
  constexpr std::size_t kBlock = 1 << 16;
  const std::size_t bytes = count * sizeof(double);
  if (small_used_ % kBlock + bytes > kBlock) small_used_ = (small_used_ / kBlock + 1) * kBlock;
  if (small_used_ / kBlock == small_memory_.size()) {
    auto made = Buffer::create(kBlock);
    if (!made) return error_ = std::move(made).error(), Tensor{nullptr, 1, count, element};
    small_memory_.push_back(*std::move(made));
  }
  const Tensor tensor{small_memory_[small_used_ / kBlock].data() + small_used_ % kBlock, 1, count, element};
  small_used_ += bytes;
  fill_zero(work(arena_), tensor);
  return tensor;
}

void TweenSession::after_backward(const Layer& layer, const ConstView& dy, ConstTensor branch_rate) {
  const auto found = layer_index_.find(&layer);
  if (found == layer_index_.end() || error_) return;
  std::size_t u = uses_.size();
  while (u > 0 && (uses_[u - 1].done || uses_[u - 1].layer != found->second)) --u;
  if (u-- == 0) return;
  Use& use = uses_[u];
  use.done = true;
  use.figures = small_tensor(kGapFigures, output_.element), use.branch_rate = small_tensor(1, output_.element);
  if (error_) return;
  branch_rate.data == nullptr ? fill(work(arena_), use.branch_rate, 1) : copy(work(arena_), branch_rate, use.branch_rate);
  metrics_.resize(std::max(metrics_.size(), uses_.size()));
  const bool is_cell = current_ > 0 && executed_[current_ - 1] == &layer;
  metrics_[u].path = &layers_[use.layer].path, metrics_[u].cell = current_ == 0 ? 0 : current_ - 1, metrics_[u].is_cell = is_cell;
  order_.push_back(u);
  const LayerState& state = layers_[use.layer];
  if (is_cell) --current_;
  if (dtp_) return measure(u, dy);  // the optimiser takes all weights at once
  std::vector<const void*>& products = products_;
  products.clear();
  for (const Weight* w : state.named) products.push_back(collected().written(*w) ? collected().of(*w) : nullptr);
  if (fused_) {
    measure(u, dy);
    move(u, products);
  } else {
    const auto held = [](const void* from, std::size_t bytes) {
      const auto* first = static_cast<const std::byte*>(from);
      return first == nullptr ? std::vector<std::byte>() : std::vector<std::byte>(first, first + bytes);
    };
    use.gap = held(dy.data, dy.shape.elements() * bytes_of(dy.element)), use.gap_shape = dy.shape;
    for (std::size_t i = 0; i < products.size(); ++i) use.products.push_back(held(products[i], state.named[i]->elements() * bytes_of(dy.element)));
  }
  for (const Weight* w : state.named) collected().clear(*w);
}

// In chain mode the target of a hidden cell is t = y + gradient_scale * e, clamped to +-activation_clamp; else t = y + e.
void TweenSession::measure(std::size_t u, const ConstView& gap) {
  const TweenUse& metrics = metrics_[u];
  const bool is_output = metrics.is_cell && metrics.cell + 1 == executed_.size(), scaled = chain_ && !is_output;
  const Aim aim{scaled ? config_.gradient_scale : 1, scaled ? config_.activation_clamp : 0, config_.budget_threshold};
  with_scratch([&](const Exec& exec) { gap_figures(exec, uses_[u].y, gap, aim, uses_[u].figures); });
}

// rate * depth * rate_scale / rows, with depth = min(depth_scale_factor^(cells to the output), 8) in chain mode and with depth_scale_layerwise,
// else 1; outside chain mode times the kind's factor of the weight. move_rate() multiplies by the budget and the rate of the branch.
double TweenSession::base_rate(const Use& use, const TweenUse& metrics, const Weight& weight) const {
  const LayerState& state = layers_[use.layer];
  double depth = 1;
  if (chain_ || config_.depth_scale_layerwise)
    depth = std::min(whole_power(config_.depth_scale_factor, executed_.size() - 1 - metrics.cell), kMostDepth);
  const double rate = rate_ * depth * state.rate_scale;
  if (chain_) return rate / static_cast<double>(output_.shape.rows());
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
  const Element element = velocities_[weight.velocity].values.element;
  const ConstTensor given{product, 1, n, output_.element};
  if (element == output_.element) return given;
  const Tensor own = exec.arena.tensor(1, n, element);
  convert(exec, given, own);
  return own;
}

void TweenSession::move(std::size_t u, std::span<const void* const> products) {
  Use& use = uses_[u];
  const LayerState& state = layers_[use.layer];
  if (!state.trainable) return;
  for (std::size_t i = 0; i < products.size() && !error_; ++i) {
    if (products[i] == nullptr) continue;
    WeightState& weight = weights_[state.weights[i]];
    const Element element = velocities_[weight.velocity].values.element;
    Move& made = moves_.emplace_back(u, state.weights[i], small_tensor(kRateEntries, element), Tensor{});
    if (!weight.is_shared) made.figures = small_tensor(kVelocityFigures, element);
    if (error_) return;
    const double base = base_rate(use, metrics_[u], *state.named[i]);
    with_scratch([&](const Exec& exec) { set_rate(exec, use, base, made.rate); });
    if (weight.is_shared)
      with_scratch([&](const Exec& exec) { add_to_pending(exec, weight, made.rate, products[i]); });
    else
      move_velocity(weight, made.rate, products[i], made.figures);
  }
}

// A shared weight sums rate * products over its uses and moves once, in finish_shared() (W-31).
void TweenSession::add_to_pending(const Exec& exec, WeightState& weight, ConstTensor rate, const void* product) {
  const Tensor& v = velocities_[weight.velocity].values;
  const Tensor sum{weight.pending.data(), 1, v.cols, v.element};
  if (!weight.collects && !exec.rehearsal()) {
    weight.collects = true;
    weight.rate = small_tensor(kRateEntries, v.element);
    if (error_) return;
    fill(exec, Tensor{weight.rate.data, 1, 1, v.element}, 1);  // the sum holds the rates of its uses
    fill_zero(exec, sum);
  }
  Tensor moved = weight.rate;
  if (!exec.rehearsal()) moved.data = static_cast<std::byte*>(moved.data) + kTakesPart * bytes_of(moved.element);
  add_products(exec, rate, product_of(exec, weight, product), sum, moved);
}

// v = momentum v + (1 - momentum) rate g; commit() adds v to the master.
void TweenSession::move_velocity(WeightState& weight, ConstTensor rate, const void* product, Tensor figures) {
  const Tensor& v = velocities_[weight.velocity].values;
  if (weight.before.size() != 0) copy(work(arena_), v, {weight.before.data(), 1, v.cols, v.element});
  weight.touched = true, weight.rate = {const_cast<void*>(rate.data), 1, kRateEntries, rate.element}, weight.figures = figures;
  const Tensor w = weight.weight->master_for_update();
  with_scratch([&](const Exec& exec) {
    velocity(exec, {config_.momentum, 1 - config_.momentum}, rate, product_of(exec, weight, product), w, v, figures);
  });
}

void TweenSession::finish_shared() {
  for (WeightState& weight : weights_) {
    if (!std::exchange(weight.collects, false) || error_) continue;
    const Tensor& v = velocities_[weight.velocity].values;
    const Tensor figures = small_tensor(kVelocityFigures, v.element);
    if (error_) return;
    weight.touched = true, weight.figures = figures;
    if (weight.before.size() != 0) copy(work(arena_), v, {weight.before.data(), 1, v.cols, v.element});
    const Tensor w = weight.weight->master_for_update();
    with_scratch([&](const Exec& exec) {
      velocity(exec, {config_.momentum, 1 - config_.momentum}, weight.rate, {weight.pending.data(), 1, v.cols, v.element}, w, v, figures);
    });
  }
}

void TweenSession::read_gaps() {
  if (error_) return;
  for (const std::size_t u : order_) {
    TweenUse& to = metrics_[u];
    to.budget = read_element(uses_[u].figures, kBudget), to.gap = read_element(uses_[u].figures, kGapSize), to.skipped = read_element(uses_[u].figures, kMoves) == 0;
    if (to.is_cell && to.cell + 1 == executed_.size()) output_gap_ = to.gap;
    if (!std::isfinite(to.gap)) return void(error_ = Error{Code::NonFinite, "tween: " + *to.path + ": the gap is not finite"});
  }
}

Result<void> TweenSession::read_moves() {
  const auto check = [&](const WeightState& weight, const ConstTensor& figures) -> Result<void> {
    if (read_element(figures, kNotFinite) == 0 && std::isfinite(read_element(figures, kSquares))) return {};
    return fail(Code::NonFinite, "tween: {}: the update is not finite", velocities_[weight.velocity].path);
  };
  for (WeightState& weight : weights_) weight.last_use = uses_.size();
  for (const Move& made : moves_) {
    WeightState& weight = weights_[made.slot];
    if (weight.is_shared) {
      if (read_element(made.rate, kTakesPart) != 0) weight.last_use = made.use;
      continue;
    }
    LOOM_TRY_VOID(check(weight, made.figures));
    metrics_[made.use].update_norm += read_element(made.figures, kSquares);
  }
  for (TweenUse& use : metrics_) use.update_norm = std::sqrt(use.update_norm);
  for (const WeightState& weight : weights_) {
    if (!weight.is_shared || !weight.touched || weight.last_use == uses_.size()) continue;
    LOOM_TRY_VOID(check(weight, weight.figures));
    double& norm = metrics_[weight.last_use].update_norm;
    norm = std::sqrt(norm * norm + read_element(weight.figures, kSquares));
  }
  return {};
}

// No sum here can fail: velocity() has tried them all.
Result<void> TweenSession::commit() {
  for (WeightState& state : weights_) {
    if (!std::exchange(state.touched, false) || read_element(state.figures, kSquares) == 0) continue;
    const ConstTensor v = velocities_[state.velocity].values;
    const Exec exec = work(arena_);
    add_velocity(exec, state.rate, v, state.limit.value_or(0), state.weight->master_for_update());
    if (auto done = state.weight->commit_update(exec.pool); !done) return at("tween: " + velocities_[state.velocity].path, std::move(done).error());
  }
  return {};
}

void TweenSession::roll_back() {
  if (dtp_) return put_back();
  for (WeightState& state : weights_) {
    state.collects = false;
    if (!std::exchange(state.touched, false)) continue;
    if (state.before.size() == 0)
      std::memset(state.memory.data(), 0, state.memory.size());
    else
      std::memcpy(state.memory.data(), state.before.data(), state.memory.size());
  }
}

// The end of a step, after every cell has had its turn.
Result<void> TweenSession::finish() {
  if (!dtp_) finish_shared();
  read_gaps();
  if (error_) return tl::make_unexpected(*std::move(error_));
  if (dtp_) return optimise();
  LOOM_TRY_VOID(read_moves());
  return commit();
}

}  // namespace loom
