#include "learning/tween/mesh_tween.h"

#include <algorithm>
#include <tuple>

#include "core/fp_environment.h"
#include "learning/names.h"

namespace loom {

class MeshTween::Carrier final : public StepCarrier {
 public:
  explicit Carrier(MeshTween& driver) : driver_(driver) {}
  void begin_cell(std::size_t cell, std::size_t back) override {
    driver_.back_ = back;
    driver_.core_->records_.current = driver_.position_[cell] + 1;
  }
  void after_forward(const Layer& layer, const ConstView& x, const ConstView& y) override {
    driver_.core_->after_forward(layer, x, y);
    driver_.places_.resize(driver_.core_->records_.uses.size(), {driver_.state_, driver_.back_});
  }
  void after_backward(const Layer& layer, const ConstView& dy, const ConstView& /*dx*/) override {
    driver_.core_->after_backward(layer, dy, {});
  }
  void after_target(const Layer& layer, const ConstView& e, const ConstView& /*d*/, ConstTensor rate) override {
    driver_.core_->after_backward(layer, e, rate);
  }

 private:
  MeshTween& driver_;
};

MeshTween::~MeshTween() = default;

Result<std::unique_ptr<MeshTween>> MeshTween::create(Network& network, StepMesh& mesh, const TweenConfig& config,
                                                     const MeshTweenOptions& options) {
  if (&mesh.network() != &network) return fail(Code::InvalidArgument, "tween: the step mesh runs another network");
  std::unique_ptr<MeshTween> driver(new MeshTween);
  driver->options_ = options;
  LOOM_TRY_VOID(driver->set_up(network, mesh, config));
  return driver;
}

Result<void> MeshTween::set_up(Network& network, StepMesh& mesh, const TweenConfig& config) {
  core_.reset(new TweenSession);
  mesh_ = &mesh, carrier_ = std::make_unique<Carrier>(*this);
  TweenSession& core = *core_;
  core.network_ = &network, core.config_ = config, core.mesh_ = &mesh, core.records_.fused = true;
  core.device_ = mesh.device(), core.arena_ = Arena(mesh.device()), core.records_.figures = Figures(mesh.device());
  LOOM_TRY_VOID(core.set_rules());
  if (core.has_feedback() || config.recompute_every > 0)
    return fail(Code::Unsupported, "tween: a step mesh takes the modes chain and layerwise, with recompute_every 0");
  LOOM_TRY_VOID(core.trained_.collect(network, mesh.plan()->wiring(), config, true, mesh.device()));
  LOOM_TRY(core.mse_, Loss::create({.kind = LossKind::Mse}));
  // A weight may be met in several ticks and states: all move at the end of a step.
  for (auto& weight : core.trained_.weights) {
    if (weight.weight == nullptr || weight.is_shared) continue;
    LOOM_TRY(weight.pending, Memory::create(core.device_, weight.memory.size()));
    weight.is_shared = true;
  }
  std::vector<std::size_t> groups;
  const Layer* last = nullptr;
  network.visit_weights([&](const std::string&, const Weight&, const Layer& layer) {
    groups.push_back(groups.empty() ? 0 : groups.back() + (&layer != last));
    last = &layer;
  });
  LOOM_TRY(core.mesh_gradients_, Gradients::create_shared(network.weights(), groups, mesh.element(), mesh.device()));
  core.trained_.executed.clear();
  for (std::size_t i = 0; i < network.num_cells(); ++i) {
    position_.push_back(core.trained_.executed.size());
    if (network.cell(i).runs()) core.trained_.executed.push_back(mesh.plan()->cells()[i].operation);
  }
  return mesh.prepare_gaps(core.by_derivatives() ? nullptr : &core.rules_, core.mesh_gradients_);
}

Result<void> MeshTween::step(StepState& state, const TweenTarget& target, double learning_rate,
                             const std::atomic<bool>* cancel) {
  StepState* const one = &state;
  return step(std::span(&one, 1), std::span(&target, 1), learning_rate, cancel);
}

Result<void> MeshTween::step(std::span<StepState* const> states, std::span<const TweenTarget> targets,
                             double learning_rate, const std::atomic<bool>* cancel) {
  LOOM_TRY_VOID(check_range("tween", "learning_rate", learning_rate, 0, 1e30));
  if (states.empty() || states.size() != targets.size())
    return fail(Code::InvalidArgument, "tween: {} targets for {} states, one for each expected", targets.size(),
                states.size());
  const FpEnvironment environment;
  TweenSession& core = *core_;
  core.records_.uses.clear(), places_.clear();
  LOOM_TRY_VOID(core.begin_step());
  core.records_.rate = learning_rate / static_cast<double>(states.size());
  output_gap_ = loss_ = 0, input_gap_ = {};
  for (state_ = 0; state_ < states.size(); ++state_)
    LOOM_TRY_VOID(move_towards(*states[state_], targets[state_], cancel));
  auto done = core.finish();
  if (!done) core.roll_back(done.error().code);
  loss_ = core.loss_ / static_cast<double>(states.size());
  list_uses();
  // The output's gap is that of the last tick, the one that has a target.
  for (const MeshTweenUse& use : uses_)
    if (use.is_cell && use.cell + 1 == core.trained_.executed.size() && use.back == 0) output_gap_ += use.gap;
  output_gap_ /= static_cast<double>(states.size());
  return done;
}

// Velocities move only in finish(): a step that ends in move_towards() leaves everything as it was.
Result<void> MeshTween::move_towards(StepState& state, const TweenTarget& target, const std::atomic<bool>* cancel) {
  TweenSession& core = *core_;
  LOOM_TRY(core.output_, state.output());
  LOOM_TRY(const ConstView gap, core.output_gap_of(target));
  core.mesh_gradients_.clear();
  LOOM_TRY(input_gap_, mesh_->propagate_gaps(state, gap, core.by_derivatives() ? nullptr : &core.rules_, options_.ticks,
                                             core.mesh_gradients_, *carrier_, cancel));
  if (core.records_.error) return tl::make_unexpected(*std::move(core.records_.error));
  return {};
}

// Lists the uses as they ran; the cells went back in descending order.
void MeshTween::list_uses() {
  const auto& metrics = core_->records_.metrics;
  order_.clear();
  for (std::size_t u = 0; u < metrics.size(); ++u)
    if (metrics[u].path != nullptr) order_.push_back(u);
  std::ranges::sort(order_, {},
                    [&](std::size_t u) { return std::tuple(places_[u].state, places_[u].back, metrics[u].cell, u); });
  uses_.clear();
  for (const std::size_t u : order_) {
    MeshTweenUse& use = uses_.emplace_back();
    static_cast<TweenUse&>(use) = metrics[u];
    use.state = places_[u].state, use.back = places_[u].back;
  }
}

}  // namespace loom
