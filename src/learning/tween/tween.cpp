#include "learning/tween/tween.h"

#include <algorithm>
#include <cmath>

#include "core/fp_environment.h"
#include "learning/names.h"
#include "learning/tween/tween_descent.h"
#include "network/mesh/step_mesh.h"
#include "network/plan/forward_plan.h"
#include "ops/elementwise/elementwise.h"

namespace loom {
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
  LOOM_TRY_VOID(check_tween(config_));
  mode_ = mode_of(config_);
  rules_ = {config_.slope == TweenSlope::Secant,
            config_.slope_step,
            config_.target_scale == TweenScale::WeightSum,
            config_.estimate == TweenEstimate::Average,
            config_.weight_threshold,
            config_.activation_clamp};
  return {};
}

Result<std::unique_ptr<TweenSession>> TweenSession::create(Network& network,
                                                           const std::shared_ptr<const ForwardPlan>& plan,
                                                           const TweenConfig& config,
                                                           const NetworkSessionOptions& options) {
  std::unique_ptr<TweenSession> s(new TweenSession);
  s->network_ = &network, s->config_ = config, s->device_ = options.device, s->arena_ = Arena(options.device),
  s->records_.figures = Figures(options.device);
  LOOM_TRY_VOID(s->set_rules());
  if (!plan->is_of(network))
    return fail(Code::InvalidState, "tween: the network was edited after its forward passes were planned");
  LOOM_TRY_VOID(s->trained_.collect(network, plan->wiring(), config, !s->has_feedback(), options.device));
  LOOM_TRY(s->mse_, Loss::create({.kind = LossKind::Mse}));
  s->watch_ = std::make_unique<Watch>(*s);
  NetworkSessionOptions inner = options;
  inner.backward = true, inner.shared_gradients = true, inner.carries_targets = true, inner.watch = s->watch_.get(),
  inner.checkpoint_every = config.recompute_every;
  if (!s->by_derivatives()) inner.tween = &s->rules_;
  if (s->has_feedback()) {
    if (config.recompute_every > 0)
      return fail(Code::Unsupported, "tween: mirror and dtp need every activation: recompute_every 0");
    LOOM_TRY_VOID(s->prepare_feedback());
    inner.targets = s->feedback(), inner.shared_gradients = false;
  }
  LOOM_TRY(s->session_, NetworkSession::create(network, plan, inner));
  return s;
}

Result<std::unique_ptr<TweenSession>> TweenSession::create(Network& network, const Shape& input,
                                                           const TweenConfig& config,
                                                           const NetworkSessionOptions& options) {
  LOOM_TRY(const auto plan, ForwardPlan::create(network, input));
  return create(network, plan, config, options);
}

Result<void> TweenSession::use_new_plan() {
  stage_ = Stage::None;
  records_.uses.clear(), records_.metrics.clear(), records_.order.clear(), records_.moves.clear();
  trained_ = {};
  LOOM_TRY_VOID(trained_.collect(*network_, session_->plan()->wiring(), config_, !has_feedback(), device_));
  return has_feedback() ? prepare_feedback() : Result<void>();
}

Result<ConstView> TweenSession::forward(const ConstView& x, const PassExtras& extras) {
  stage_ = Stage::None;
  records_.uses.clear();
  step_ = extras.step;
  LOOM_TRY(output_, session_->forward(x, extras));
  stage_ = Stage::Forward;
  return output_;
}

// A session that runs segments again repeats their records; the old ones have been used by then.
void TweenSession::after_forward(const Layer& layer, const ConstView& x, const ConstView& y) {
  const auto found = trained_.find(layer);
  if (!found) return;
  Use& use = records_.uses.emplace_back();
  use.layer = *found, use.x = x, use.y = y, use.gap_shape = y.shape;
}

// Computes the gap of the output, e = t_n - y_n = -c dL/dy with c as in TweenTarget, or output_step * rows beside
// feedback weights. The gap has memory of its own, since the arena's tensors are in use.
Result<ConstView> TweenSession::output_gap_of(const TweenTarget& target) {
  const Loss& loss = target.loss != nullptr ? *target.loss : *mse_;
  const std::size_t bytes = output_.shape.elements() * bytes_of(output_.element);
  if (records_.gap_memory.size() < bytes) {
    LOOM_TRY(records_.gap_memory, Memory::create(device_, bytes));
  }
  const View gap{records_.gap_memory.data(), output_.shape, output_.element};
  const Exec exec = work(arena_);
  LossCall call{.output = output_,
                .target = target.values,
                .classes = target.classes,
                .sample_weights = target.sample_weights,
                .gradient = gap};
  LOOM_TRY(const PendingLoss pending, loss.record(exec, call, records_.figures, records_.failed));
  records_.losses.push_back(pending);
  // W-62: with an output_step of 1/2 the mean over rows of |f(x) - t|^2 has the loss's gradient.
  const double size = has_feedback()      ? -config_.output_step * static_cast<double>(output_.shape.rows())
                      : loss.by_element() ? -pending.count / 2
                                          : -pending.count;
  scale(exec, gap, size, gap);
  keep_error(exec);
  return ConstView(gap);
}

Result<void> TweenSession::run(const TweenTarget& target, const std::atomic<bool>* cancel) {
  if (stage_ != Stage::Forward) return fail(Code::InvalidState, "tween: targets follow a forward");
  const FpEnvironment environment;
  stage_ = Stage::None;
  if (auto done = run_backward(target, cancel); !done) {
    records_.metrics.clear();
    return done;
  }
  drop_uses_without_target();
  return {};
}

Result<void> TweenSession::run_backward(const TweenTarget& target, const std::atomic<bool>* cancel) {
  if (has_feedback()) descent_->forget();  // this step may fail before it keeps a state of its own
  LOOM_TRY_VOID(begin_step());
  LOOM_TRY(const ConstView gap, output_gap_of(target));
  session_->gradients().clear();
  records_.current = trained_.executed.size();
  if (has_feedback()) {
    descent_->keep();
    LOOM_TRY_VOID(feedback()->train(session_->exec_with(arena_), step_));
  }
  auto dx = session_->backward(gap, nullptr, cancel);
  if (!dx) return tl::make_unexpected(std::move(dx).error());
  input_gap_ = *dx;
  if (records_.error) return tl::make_unexpected(*std::move(records_.error));
  return {};
}

void TweenSession::drop_uses_without_target() {
  std::vector<std::size_t> moved(records_.uses.size());
  std::size_t kept = 0;
  records_.metrics.resize(records_.uses.size());
  for (std::size_t u = 0; u < records_.uses.size(); ++u) {
    moved[u] = kept;
    if (!records_.uses[u].done) continue;
    if (kept != u) records_.uses[kept] = std::move(records_.uses[u]), records_.metrics[kept] = records_.metrics[u];
    ++kept;
  }
  records_.uses.resize(kept), records_.metrics.resize(kept);
  for (std::size_t& u : records_.order) u = moved[u];
  for (Move& move : records_.moves) move.use = moved[move.use];
}

Result<void> TweenSession::step(const TweenTarget& target, double learning_rate, const std::atomic<bool>* cancel) {
  LOOM_TRY_VOID(check_range("tween", "learning_rate", learning_rate, 0, 1e30));
  const FpEnvironment environment;
  if (cancel != nullptr) LOOM_TRY_VOID(trained_.keep_velocities(device_));
  records_.fused = true, records_.rate = learning_rate;
  auto done = run(target, cancel);
  if (done) done = finish();
  records_.fused = false;
  if (!done)
    roll_back(done.error().code);
  else if (has_feedback())
    descent_->forget();
  // Segments ran again from the last one on; a step that was not finite lists its uses too.
  if (config_.recompute_every > 0) std::ranges::stable_sort(records_.metrics, {}, &TweenUse::cell);
  return done;
}

Result<void> TweenSession::backward(const TweenTarget& target) {
  if (config_.recompute_every > 0 || has_feedback() || device_ != nullptr)
    return fail(Code::InvalidState,
                "tween: with recompute_every, with mirror and dtp and on a device a step is one call");
  records_.fused = false;
  LOOM_TRY_VOID(run(target));
  LOOM_TRY_VOID(fetch());
  LOOM_TRY_VOID(read_loss());
  stage_ = Stage::Targets;
  return {};
}

Result<void> TweenSession::calculate_link_budgets() {
  if (stage_ != Stage::Targets) return fail(Code::InvalidState, "tween: budgets follow the targets of backward()");
  const FpEnvironment environment;
  for (const std::size_t u : records_.order) measure(u, gap_of(u));
  LOOM_TRY_VOID(fetch());
  LOOM_TRY_VOID(read_gaps());
  stage_ = Stage::Budgets;
  return {};
}

ConstView TweenSession::gap_of(std::size_t use) const {
  const Use& u = records_.uses[use];
  return {u.gap.data(), u.gap_shape, output_.element};
}

Result<void> TweenSession::apply(double learning_rate) {
  if (stage_ != Stage::Budgets) return fail(Code::InvalidState, "tween: updates follow calculate_link_budgets()");
  LOOM_TRY_VOID(check_range("tween", "learning_rate", learning_rate, 0, 1e30));
  const FpEnvironment environment;
  stage_ = Stage::None, records_.rate = learning_rate;
  const auto products_of = [&](std::size_t u) {
    std::vector<const void*> products;
    for (const auto& held : records_.uses[u].products) products.push_back(held.empty() ? nullptr : held.data());
    return products;
  };
  for (const std::size_t u : records_.order) move(u, products_of(u));
  if (auto done = finish(); !done) {
    roll_back(done.error().code);
    return done;
  }
  return {};
}

Result<void> TweenSession::prepare_feedback() {
  const auto find = [this](const Layer& layer) -> std::optional<TweenFeedback::Seen> {
    const auto index = trained_.find(layer);
    for (std::size_t u = records_.uses.size(); u-- > 0;)
      if (const Use& use = records_.uses[u]; !use.done && use.layer == index) return TweenFeedback::Seen{use.x, use.y};
    return std::nullopt;
  };
  const NetworkSettings& of = network_->settings;
  if (descent_ == nullptr) {
    std::unique_ptr<TweenFeedback> feedback;
    if (mode_ == TweenMode::Mirror)
      feedback = std::make_unique<TweenMirror>(config_, rules_, of.seed, of.activations);
    else
      feedback = std::make_unique<TweenInverse>(config_, of.seed, of.activations);
    descent_ = std::make_unique<TweenDescent>(trained_, std::move(feedback), device_);
  }
  return descent_->prepare(config_.optimizer, by_derivatives(), find);
}

TweenFeedback* TweenSession::feedback() { return descent_ != nullptr ? &descent_->feedback() : nullptr; }
Optimizer* TweenSession::optimizer() { return descent_ != nullptr ? &descent_->optimizer() : nullptr; }

// A weight without a use above the threshold stays as it is.
Result<void> TweenSession::optimise() {
  std::vector<bool> moves(trained_.velocities.size());
  for (const std::size_t u : records_.order)
    if (!records_.metrics[u].skipped && trained_.layers[records_.uses[u].layer].trainable)
      for (const std::size_t slot : trained_.layers[records_.uses[u].layer].weights)
        moves[trained_.weights[slot].velocity] = true;
  // The optimiser moves masters in host memory, even where passes run on a device.
  return descent_->step(session_->exec_with(device_ != nullptr ? host_arena_ : arena_), moves, session_->gradients(),
                        static_cast<double>(output_.shape.rows()), records_.rate);
}

std::vector<TweenVelocity> TweenSession::state() {
  std::vector<TweenVelocity> out;
  for (const TweenVelocity& v : trained_.velocities)
    if (v.values.data != nullptr) out.push_back({v.path + ".velocity", v.values, device_});
  for (WeightState& state : trained_.weights)
    if (state.limit)
      out.push_back({trained_.velocities[state.velocity].path + ".limit", {&*state.limit, 1, 1, Element::f64}});
  if (!has_feedback()) return out;
  for (std::size_t p = 0; p < optimizer()->parameters().size(); ++p)
    for (const OptimizerSlot& slot : optimizer()->slots(p))
      out.push_back({fmt::format("{}.{}", optimizer()->parameters()[p].path, slot.name), slot.values});
  feedback()->visit_weights([&](const std::string& path, Weight& w) { out.push_back({path, w.master_for_update()}); });
  return out;
}

Result<void> TweenSession::restored() {
  const FpEnvironment environment;
  for (const WeightState& state : trained_.weights) LOOM_TRY_VOID(check_master_limit(state.limit));
  if (!has_feedback()) return {};
  Result<void> done;
  feedback()->visit_weights([&](const std::string& path, Weight& w) {
    if (!done) return;
    if (auto committed = w.commit_update(session_->pool()); !committed) done = at(path, std::move(committed).error());
  });
  return done;
}

std::size_t TweenSession::bytes() const {
  const std::size_t bytes = session_->scratch_bytes() + session_->gradients().bytes() + arena_.size() +
                            records_.gap_memory.size() + records_.figures.bytes() + trained_.bytes();
  return bytes + (descent_ != nullptr ? descent_->bytes() : 0);
}

}  // namespace loom
