#include "learning/tween/tween.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/fp_environment.h"
#include "learning/names.h"
#include "learning/tween/tween_feedback.h"
#include "network/step_mesh.h"
#include "ops/elementwise/elementwise.h"
#include "ops/finite.h"

namespace loom {
namespace {

// Index of `given` in the choices.
Result<std::size_t> choice(std::string_view what, const std::string& given,
                           std::initializer_list<std::string_view> known) {
  const std::vector<std::string_view> names(known);
  return find_name(what, given, names);
}

Result<void> check(const TweenConfig& c) {
  constexpr double kMost = 1e30;
  const struct {
    std::string_view key;
    double value, low, high;
  } ranges[] = {{"gradient_scale", c.gradient_scale, 0, kMost},
                {"depth_scale_factor", c.depth_scale_factor, 0, kMost},
                {"momentum", c.momentum, 0, 1},
                {"activation_clamp", c.activation_clamp, 0, kMost},
                {"budget_threshold", c.budget_threshold, 0, 1},
                {"weight_threshold", c.weight_threshold, 0, kMost},
                {"slope_step", c.slope_step, 0, kMost},
                {"feedback_noise", c.feedback_noise.value_or(0), 0, kMost},
                {"feedback_learning_rate", c.feedback_learning_rate.value_or(0), 0, kMost},
                {"output_step", c.output_step, 0, kMost}};
  for (const auto& range : ranges) LOOM_TRY_VOID(check_range("tween", range.key, range.value, range.low, range.high));
  return {};
}

// A layer and those inside it, with what the settings of all its containers say about training.
void visit_trained(const std::string& path, Layer& layer, bool trainable, double scale,
                   const std::function<void(const std::string&, Layer&, bool, double)>& visit) {
  trainable = trainable && layer.common.trainable;
  scale *= layer.common.learning_rate_scale;
  visit(path, layer, trainable, scale);
  layer.visit_children([&](const std::string& below, Layer& child) {
    visit_trained(path + "." + below, child, trainable, scale, visit);
  });
}

}  // namespace

class TweenSession::Watch final : public LayerWatch {
 public:
  explicit Watch(TweenSession& session) : session_(session) {}
  void after_forward(const Layer& layer, const ConstView& x, const ConstView& y) override {
    session_.after_forward(layer, x, y);
  }
  void after_backward(const Layer& layer, const ConstView& dy, const ConstView& /*dx*/) override {
    session_.after_backward(layer, dy, {});
  }
  void after_target(const Layer& layer, const ConstView& e, const ConstView& /*d*/, ConstTensor rate) override {
    session_.after_backward(layer, e, rate);
  }

 private:
  TweenSession& session_;
};

TweenSession::TweenSession() = default;
TweenSession::~TweenSession() = default;

Exec TweenSession::work(Arena& arena) {
  return mesh_ != nullptr ? mesh_->exec_with(arena) : session_->exec_with(arena);
}
Gradients& TweenSession::collected() { return mesh_ != nullptr ? mesh_gradients_ : session_->gradients(); }

Result<void> TweenSession::set_rules() {
  LOOM_TRY_VOID(check(config_));
  LOOM_TRY(const std::size_t mode,
           choice("tween mode", config_.mode.empty() ? config_.use_chain_rule ? "chain" : "layerwise" : config_.mode,
                  {"chain", "layerwise|pure", "mirror", "dtp"}));
  LOOM_TRY(const std::size_t slope, choice("tween slope", config_.slope, {"secant", "sign"}));
  LOOM_TRY(const std::size_t estimate, choice("tween estimate", config_.estimate, {"difference", "average"}));
  LOOM_TRY(const std::size_t scale, choice("tween target_scale", config_.target_scale, {"none", "weight_sum"}));
  mode_ = static_cast<TweenMode>(mode);
  rules_ = {slope == 0,    config_.slope_step,       scale == 1,
            estimate == 1, config_.weight_threshold, config_.activation_clamp};
  return {};
}

Result<std::unique_ptr<TweenSession>> TweenSession::create(Network& network, const TweenConfig& config,
                                                           const NetworkSessionOptions& options) {
  std::unique_ptr<TweenSession> s(new TweenSession);
  s->network_ = &network, s->config_ = config, s->device_ = options.device, s->arena_ = Arena(options.device),
  s->figures_ = Figures(options.device);
  LOOM_TRY_VOID(s->set_rules());
  if (s->has_feedback() && options.device != nullptr)
    return fail(Code::Unsupported, "tween: mirror and dtp run without a device");
  LOOM_TRY_VOID(s->collect());
  LOOM_TRY(s->mse_, Loss::create({.name = "mse"}));
  s->watch_ = std::make_unique<Watch>(*s);
  NetworkSessionOptions inner = options;
  inner.backward = true, inner.shared_gradients = true, inner.carries_targets = true, inner.watch = s->watch_.get(),
  inner.checkpoint_every = config.recompute_every;
  if (!s->by_derivatives()) inner.tween = &s->rules_;
  if (s->has_feedback()) {
    if (config.recompute_every > 0)
      return fail(Code::Unsupported, "tween: mirror and dtp need every activation: recompute_every 0");
    LOOM_TRY_VOID(s->prepare_feedback());
    inner.targets = s->feedback_.get(), inner.shared_gradients = false;
  }
  LOOM_TRY(s->session_, NetworkSession::create(network, inner));
  return s;
}

Result<void> TweenSession::adopt() {
  stage_ = Stage::None;
  uses_.clear(), metrics_.clear(), order_.clear(), moves_.clear();
  layers_.clear(), layer_index_.clear(), executed_.clear(), weights_.clear(), velocities_.clear();
  LOOM_TRY_VOID(collect());
  gradient_memory_.clear(), is_kept_ = false;
  return has_feedback() ? prepare_feedback() : Result<void>();
}

// Layers with their weights, cells that run, velocities at 0.
Result<void> TweenSession::collect() {
  std::optional<Error> error;
  std::size_t slots = 0;
  network_->visit_weights(
      [&](const std::string&, const Weight& w, const Layer&) { slots = std::max(slots, w.slot() + 1); });
  weights_.resize(slots);
  network_->visit_weights([&](const std::string& path, Weight& w, const Layer&) {
    if (error || w.role() == WeightRole::Statistic || w.is_frozen()) return;
    WeightState& state = weights_[w.slot()];
    if (auto ready = w.ensure_master(); !ready) return void(error = std::move(ready.error().in_source(path)));
    state.weight = &w, state.velocity = velocities_.size();
    const Element element = w.master64().empty() ? Element::f32 : Element::f64;
    for (Memory* memory : {&state.memory, config_.undo_velocities ? &state.before : nullptr}) {
      if (memory == nullptr || has_feedback()) continue;
      auto made = Memory::create(device_, w.elements() * bytes_of(element));
      if (!made) return void(error = std::move(made).error());
      *memory = std::move(*made);
    }
    velocities_.push_back({path, {has_feedback() ? nullptr : state.memory.data(), 1, w.elements(), element}});
    state.limit = master_limit(config_.clamp_master, w);
  });
  if (error) return tl::make_unexpected(*std::move(error));
  for (std::size_t i = 0; i < network_->num_cells(); ++i) {
    const Cell& cell = network_->cell(i);
    if (cell.runs()) executed_.push_back(cell.front());
    const auto visit = [&](const std::string& path, Layer& layer, bool trainable, double scale) {
      LayerState state{path, {}, {}, &layer, scale, trainable};
      layer.visit_all_weights([&](Weight& w) {
        if (w.slot() >= weights_.size() || weights_[w.slot()].weight == nullptr || w.is_frozen()) return;
        state.weights.push_back(w.slot()), state.named.push_back(&w);
      });
      layer_index_[&layer] = layers_.size();
      layers_.push_back(std::move(state));
    };
    if (cell.link) visit_trained(Network::path(i), *cell.front(), true, 1, visit);
    if (cell.layer) visit_trained(Network::path(i), *cell.layer, true, 1, visit);
  }
  // A weight that several layers name, or that links lead to, may be met more than once in a step.
  std::vector<std::size_t> owners(weights_.size());
  for (const LayerState& state : layers_)
    for (const std::size_t slot : state.weights) weights_[slot].is_shared |= owners[slot]++ > 0;
  for (const LayerState& state : layers_) {
    const Share* share = layer_as<Share>(*state.layer);
    if (share == nullptr || share->target() == nullptr) continue;
    visit_layers("", *share->target(), [&](const std::string&, Layer& layer) {
      if (const auto found = layer_index_.find(&layer); found != layer_index_.end())
        for (const std::size_t slot : layers_[found->second].weights) weights_[slot].is_shared = true;
    });
  }
  for (WeightState& weight : weights_)
    if (weight.is_shared) {
      LOOM_TRY(weight.pending, Memory::create(device_, weight.memory.size()));
    }
  return {};
}

Result<ConstView> TweenSession::forward(const ConstView& x, const PassExtras& extras) {
  stage_ = Stage::None;
  uses_.clear();
  step_ = extras.step;
  LOOM_TRY(output_, session_->forward(x, extras));
  stage_ = Stage::Forward;
  return output_;
}

// A session that runs segments again repeats their records; the old ones have been used by then.
void TweenSession::after_forward(const Layer& layer, const ConstView& x, const ConstView& y) {
  const auto found = layer_index_.find(&layer);
  if (found == layer_index_.end()) return;
  Use& use = uses_.emplace_back();
  use.layer = found->second, use.x = x, use.y = y, use.gap_shape = y.shape;
}

// Gap of the output, e = t_n - y_n = -c dL/dy with c as in TweenTarget, or output_step * rows beside feedback weights.
// In memory of its own: the arena's tensors are in use.
Result<ConstView> TweenSession::output_gap_of(const TweenTarget& target) {
  const Loss& loss = target.loss != nullptr ? *target.loss : *mse_;
  const std::size_t bytes = output_.shape.elements() * bytes_of(output_.element);
  if (gap_memory_.size() < bytes) {
    LOOM_TRY(gap_memory_, Memory::create(device_, bytes));
  }
  const View gap{gap_memory_.data(), output_.shape, output_.element};
  const Exec exec = work(arena_);
  LossCall call{.output = output_,
                .target = target.values,
                .classes = target.classes,
                .sample_weights = target.sample_weights,
                .gradient = gap};
  LOOM_TRY(const PendingLoss pending, loss.record(exec, call, figures_, failed_));
  losses_.push_back(pending);
  // W-62: with an output_step of 1/2 the mean over rows of |f(x) - t|^2 has the loss's gradient.
  const double size = has_feedback()      ? -config_.output_step * static_cast<double>(output_.shape.rows())
                      : loss.by_element() ? -pending.count / 2
                                          : -pending.count;
  scale(exec, gap, size, gap);
  return ConstView(gap);
}

Result<void> TweenSession::run(const TweenTarget& target) {
  if (stage_ != Stage::Forward) return fail(Code::InvalidState, "tween: targets follow a forward");
  const FpEnvironment environment;
  stage_ = Stage::None;
  is_kept_ = false;  // what the step before kept: this one may fail before it keeps its own
  LOOM_TRY_VOID(begin_step());
  LOOM_TRY(const ConstView gap, output_gap_of(target));
  session_->gradients().clear();
  current_ = executed_.size();
  if (has_feedback()) {
    keep_state();
    LOOM_TRY_VOID(feedback_->train(session_->exec_with(arena_), step_));
  }
  auto dx = session_->backward(gap);
  if (!dx) return tl::make_unexpected(std::move(dx).error());
  input_gap_ = *dx;
  if (error_) return tl::make_unexpected(*std::move(error_));
  return {};
}

Result<void> TweenSession::step(const TweenTarget& target, double learning_rate) {
  LOOM_TRY_VOID(check_range("tween", "learning_rate", learning_rate, 0, 1e30));
  const FpEnvironment environment;
  fused_ = true, rate_ = learning_rate;
  auto done = run(target);
  if (done) done = finish();
  fused_ = false;
  if (!done) return roll_back(), done;
  is_kept_ = false;
  if (config_.recompute_every > 0) std::ranges::stable_sort(metrics_, {}, &TweenUse::cell);
  return {};
}

Result<void> TweenSession::backward(const TweenTarget& target) {
  if (config_.recompute_every > 0 || has_feedback() || device_ != nullptr)
    return fail(Code::InvalidState,
                "tween: with recompute_every, with mirror and dtp and on a device a step is one call");
  fused_ = false;
  LOOM_TRY_VOID(run(target));
  figures_.fetch();
  LOOM_TRY_VOID(read_loss());
  stage_ = Stage::Targets;
  return {};
}

Result<void> TweenSession::calculate_link_budgets() {
  if (stage_ != Stage::Targets) return fail(Code::InvalidState, "tween: budgets follow the targets of backward()");
  const FpEnvironment environment;
  for (const std::size_t u : order_) measure(u, gap_of(u));
  if (error_) return tl::make_unexpected(*std::move(error_));
  figures_.fetch();
  LOOM_TRY_VOID(read_gaps());
  stage_ = Stage::Budgets;
  return {};
}

ConstView TweenSession::gap_of(std::size_t use) const {
  const Use& u = uses_[use];
  return {u.gap.data(), u.gap_shape, output_.element};
}

Result<void> TweenSession::apply(double learning_rate) {
  if (stage_ != Stage::Budgets) return fail(Code::InvalidState, "tween: updates follow calculate_link_budgets()");
  LOOM_TRY_VOID(check_range("tween", "learning_rate", learning_rate, 0, 1e30));
  const FpEnvironment environment;
  stage_ = Stage::None, rate_ = learning_rate;
  const auto products_of = [&](std::size_t u) {
    std::vector<const void*> products;
    for (const auto& held : uses_[u].products) products.push_back(held.empty() ? nullptr : held.data());
    return products;
  };
  for (const std::size_t u : order_) move(u, products_of(u));
  if (auto done = finish(); !done) return roll_back(), done;
  return {};
}

Result<void> TweenSession::prepare_feedback() {
  std::map<const Layer*, std::string> paths;
  for (const LayerState& state : layers_)
    if (!state.weights.empty()) paths[state.layer] = state.path;
  const auto find = [this](const Layer& layer) -> std::optional<TweenFeedback::Seen> {
    const auto index = layer_index_.find(&layer);
    for (std::size_t u = uses_.size(); u-- > 0;)
      if (!uses_[u].done && uses_[u].layer == index->second) return TweenFeedback::Seen{uses_[u].x, uses_[u].y};
    return std::nullopt;
  };
  const NetworkSettings& of = network_->settings;
  if (feedback_ == nullptr && mode_ == TweenMode::Mirror)
    feedback_ = std::make_unique<TweenMirror>(config_, rules_, of.seed, of.activations);
  if (feedback_ == nullptr) feedback_ = std::make_unique<TweenInverse>(config_, of.seed, of.activations);
  LOOM_TRY_VOID(feedback_->own(paths, find));
  LOOM_TRY(optimizer_, Optimizer::create(config_.optimizer));
  std::vector<Parameter> parameters;
  for (const TweenVelocity& v : velocities_) parameters.push_back({v.path, v.values.cols, v.values.element, false, 1});
  for (const LayerState& state : layers_)
    for (std::size_t i = 0; i < state.weights.size(); ++i) {
      Parameter& parameter = parameters[weights_[state.weights[i]].velocity];
      parameter.vector = state.named[i]->shape().rank() == 1, parameter.rate_scale = state.rate_scale;
      const bool is_gradient = by_derivatives() || state.named[i]->role() == WeightRole::Adapter;
      weights_[state.weights[i]].factor = is_gradient ? 1 : state.layer->tween_factor(*state.named[i]);
    }
  LOOM_TRY_VOID(optimizer_->prepare(std::move(parameters)));
  for (const TweenVelocity& v : velocities_) {
    LOOM_TRY(Buffer memory, Buffer::create(v.values.bytes()));
    gradient_memory_.push_back(std::move(memory));
  }
  std::size_t bytes = 0;
  for (WeightState& state : weights_)
    if (state.weight != nullptr) state.kept_at = bytes, bytes += state.weight->master_for_update().bytes();
  bytes = 0;
  each_kept([&](const Tensor& values, Weight*) { bytes += values.bytes(); });
  LOOM_TRY(kept_, Buffer::create(bytes));
  return {};
}

// W-62: every cell's weights descend the mean over rows of |f(x) - t|^2; a weight without a use above the threshold
// stays as it is. Masters move in place: a step that fails restores everything (roll_back).
Result<void> TweenSession::optimise() {
  std::vector<bool> moves(velocities_.size());
  for (const std::size_t u : order_)
    if (!metrics_[u].skipped && layers_[uses_[u].layer].trainable)
      for (const std::size_t slot : layers_[uses_[u].layer].weights) moves[weights_[slot].velocity] = true;
  const Exec exec = session_->exec_with(arena_);
  std::vector<Tensor> masters(velocities_.size());
  std::vector<ConstTensor> gradients(velocities_.size());
  for (const WeightState& state : weights_) {
    if (state.weight == nullptr || !moves[state.velocity] || !session_->gradients().written(*state.weight)) continue;
    const Tensor to = state.weight->master_for_update();
    const Tensor g{gradient_memory_[state.velocity].data(), to.rows, to.cols, to.element};
    const double factor = -2 * state.factor / static_cast<double>(output_.shape.rows());
    convert(exec, {session_->gradients().of(*state.weight), to.rows, to.cols, output_.element}, g);
    scale(exec, g, factor, g);
    if (!all_finite(exec, g))
      return fail(Code::NonFinite, "tween: {}: the gradient is not finite", velocities_[state.velocity].path);
    masters[state.velocity] = to, gradients[state.velocity] = g;
  }
  LOOM_TRY_VOID(optimizer_->step(exec, masters, gradients, rate_));
  for (const WeightState& state : weights_) {
    if (state.weight == nullptr || masters[state.velocity].data == nullptr) continue;
    if (state.limit.value_or(0) > 0) clamp(exec, *state.limit, masters[state.velocity]);
    if (!all_finite(exec, masters[state.velocity]))
      return fail(Code::NonFinite, "tween: {}: the update is not finite", velocities_[state.velocity].path);
  }
  for (const WeightState& state : weights_) {
    if (state.weight == nullptr || masters[state.velocity].data == nullptr) continue;
    if (auto done = state.weight->commit_update(exec.pool); !done)
      return at("tween: " + velocities_[state.velocity].path, std::move(done).error());
  }
  for (const LayerState& state : layers_)
    for (std::size_t i = 0; i < state.weights.size(); ++i) {
      const WeightState& weight = weights_[state.weights[i]];
      const Tensor& now = masters[weight.velocity];
      if (now.data == nullptr) continue;
      Result<void> done;
      with_scratch([&](const Exec& scratch) {
        const ConstTensor before{kept_.data() + weight.kept_at, now.rows, now.cols, now.element};
        done = feedback_->follow(scratch, *state.layer, *state.named[i], before, now);
      });
      LOOM_TRY_VOID(done);
      if (error_) return tl::make_unexpected(*std::move(error_));
    }
  return {};
}

// Saves the state of a mode with feedback weights: masters, optimiser, feedback weights.
void TweenSession::keep_state() {
  kept_steps_ = optimizer_->steps(), is_kept_ = true;
  std::byte* to = kept_.data();
  each_kept([&](const Tensor& values, Weight*) {
    to = std::copy_n(static_cast<const std::byte*>(values.data), values.bytes(), to);
  });
}

// Restores the state that keep_state() saved; weights whose values had changed are committed again.
void TweenSession::put_back() {
  if (!std::exchange(is_kept_, false)) return;
  const std::byte* from = kept_.data();
  each_kept([&](const Tensor& values, Weight* weight) {
    const bool same = std::memcmp(values.data, from, values.bytes()) == 0;
    std::memcpy(values.data, from, values.bytes());
    from += values.bytes();
    if (weight != nullptr && !same) static_cast<void>(weight->commit_update(session_->pool()));
  });
  optimizer_->set_steps(kept_steps_);
}

// Visits all values that such a step changes; `Weight*` is null for those that are not weights.
void TweenSession::each_kept(const std::function<void(const Tensor&, Weight*)>& visit) {
  for (const WeightState& state : weights_)
    if (state.weight != nullptr) visit(state.weight->master_for_update(), state.weight);
  for (std::size_t p = 0; p < optimizer_->parameters().size(); ++p)
    for (const OptimizerSlot& slot : optimizer_->slots(p)) visit(slot.values, nullptr);
  feedback_->visit_weights([&](const std::string&, Weight& w) { visit(w.master_for_update(), &w); });
}

std::vector<TweenVelocity> TweenSession::state() {
  std::vector<TweenVelocity> out;
  for (const TweenVelocity& v : velocities_)
    if (v.values.data != nullptr) out.push_back({v.path + ".velocity", v.values});
  for (WeightState& state : weights_)
    if (state.limit) out.push_back({velocities_[state.velocity].path + ".limit", {&*state.limit, 1, 1, Element::f64}});
  if (!has_feedback()) return out;
  for (std::size_t p = 0; p < optimizer_->parameters().size(); ++p)
    for (const OptimizerSlot& slot : optimizer_->slots(p))
      out.push_back({fmt::format("{}.{}", optimizer_->parameters()[p].path, slot.name), slot.values});
  feedback_->visit_weights([&](const std::string& path, Weight& w) { out.push_back({path, w.master_for_update()}); });
  return out;
}

Result<void> TweenSession::restored() {
  const FpEnvironment environment;
  for (const WeightState& state : weights_) LOOM_TRY_VOID(check_master_limit(state.limit));
  if (!has_feedback()) return {};
  Result<void> done;
  feedback_->visit_weights([&](const std::string& path, Weight& w) {
    if (!done) return;
    if (auto committed = w.commit_update(session_->pool()); !committed) done = at(path, std::move(committed).error());
  });
  return done;
}

std::size_t TweenSession::bytes() const {
  std::size_t bytes = session_->scratch_bytes() + session_->gradients().bytes() + arena_.size() + gap_memory_.size() +
                      kept_.size() + figures_.bytes();
  for (const WeightState& weight : weights_)
    bytes += weight.memory.size() + weight.pending.size() + weight.before.size();
  for (const Buffer& memory : gradient_memory_) bytes += memory.size();
  if (feedback_) bytes += feedback_->bytes();
  return bytes;
}

}  // namespace loom
