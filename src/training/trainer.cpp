#include "training/trainer.h"

#include <algorithm>
#include <limits>
#include <map>

#include "backend/pass_error.h"
#include "backend/travel.h"
#include "core/checked.h"
#include "core/fp_environment.h"
#include "core/nearest.h"
#include "dtypes/packing.h"
#include "ops/finite.h"

namespace loom {
namespace {

constexpr double kFirstLossScale = 65536, kLargestLossScale = 0x1p24;
constexpr std::uint64_t kGoodSteps = 2000;  // before the loss scale is doubled (T-70)

// Finds where numbers stop being finite, for a message: every output is read from a device, for once.
class FiniteWatch final : public LayerWatch {
 public:
  FiniteWatch(const Exec& exec, Device* device) : exec_(exec), device_(device) {}
  void after_forward(const Layer& layer, const ConstView& /*x*/, const ConstView& y) override {
    if (first != nullptr) return;
    const auto here = brought(device_, y, memory_);
    if (!here) error = here.error();
    if (here && !all_finite(exec_, *here)) first = &layer;
  }
  void after_backward(const Layer& /*layer*/, const ConstView& /*dy*/, const ConstView& /*dx*/) override {}
  const Layer* first = nullptr;
  std::optional<Error> error;

 private:
  const Exec& exec_;
  Device* device_;
  Buffer memory_;
};

}  // namespace

Result<std::unique_ptr<Trainer>> Trainer::create(Network& network, const Shape& batch, const TrainerConfig& config) {
  LOOM_TRY(const auto plan, ForwardPlan::create(network, batch));
  return create(network, plan, config);
}

Result<std::unique_ptr<Trainer>> Trainer::create(Network& network, const std::shared_ptr<const ForwardPlan>& plan,
                                                 const TrainerConfig& config) {
  LOOM_TRY(Loss loss, Loss::create(config.loss));
  LOOM_TRY(Optimizer optimizer, Optimizer::create(config.optimizer));
  LOOM_TRY(Schedule schedule, Schedule::create(config.schedule));
  if (config.session.mixed != Mixed::none && network.settings.activations == Element::f64)
    return fail(Code::Unsupported, "mixed precision: the network computes in f64");
  std::unique_ptr<Trainer> t(new Trainer(network, config, std::move(loss), std::move(optimizer), std::move(schedule)));
  t->settle_device(plan);
  if (config.lbfgs_history) {
    // The search along a line compares losses with the slope of the true gradient.
    if (config.clip_norm != 0 || config.clip_value != 0)
      return fail(Code::InvalidConfig, "lbfgs: clip_norm and clip_value would bend the line it searches along");
    if (config.session.mixed == Mixed::f16)
      return fail(Code::InvalidConfig, "lbfgs: mixed f16 changes the loss scale between steps; use mixed bf16 or none");
    LOOM_TRY(t->lbfgs_, Lbfgs::create(*config.lbfgs_history));
  }
  if (config.commit_meta && (config.lbfgs_history || t->config_.session.device != nullptr))
    return fail(Code::Unsupported, "commit_meta: neither with lbfgs, whose pairs are of one network, nor on a device");
  LOOM_TRY_VOID(t->collect_parameters());
  LOOM_TRY_VOID(config.tween ? t->create_tween(plan) : t->create_gradients(plan));
  if (config.session.mixed == Mixed::f16) t->state_.loss_scale = kFirstLossScale;
  return t;
}

Result<void> Trainer::check_effects() const {
  if (config_.commit_meta) return {};  // a layer may ask for another type later
  const auto has_a_scale = [](const Weight* w) {
    return (w->role() == WeightRole::Matrix || w->role() == WeightRole::TypedVector) && has_scales(w->dtype());
  };
  if (config_.frozen_scales && std::ranges::none_of(trained_.weights(), has_a_scale))
    return fail_at({"qat_scale"}, Code::InvalidConfig,
                   "\"frozen\" has no effect: no weight that is trained has a type with scales; give a dtype such as "
                   "int8, or leave qat_scale out");
  if (config_.clamp_master.rule == MasterClamp::Rule::Limit && !trained_.has_limits())
    return fail_at({"clamp_master"}, Code::InvalidConfig,
                   "{} has no effect: no weight that is trained is a binary or ternary matrix; give such a dtype, or "
                   "leave clamp_master out",
                   config_.clamp_master.limit);
  return {};
}

// Keeps trainings that no device runs on the host.
void Trainer::settle_device(const std::shared_ptr<const ForwardPlan>& plan) {
  NetworkSessionOptions& session = config_.session;
  const bool has_feedback = config_.tween && mode_of(*config_.tween) >= TweenMode::Mirror;
  if (config_.lbfgs_history || config_.commit_meta || has_feedback) session.choose_device = nullptr;
  NetworkSessionOptions learns = session;
  learns.backward = true;
  loom::settle_device(*network_, plan, learns);
  session.device = learns.device, session.choose_device = nullptr;
}

Result<void> Trainer::collect_parameters() {
  LOOM_TRY(TrainedWeights::Found found, trained_.collect(*network_, config_.clamp_master, config_.frozen_scales));
  restore_point_.watch(std::move(found.statistics), device());
  scratch_ = Arena(device());
  return optimizer_.prepare(std::move(found.parameters), device());
}

Result<void> Trainer::create_gradients(const std::shared_ptr<const ForwardPlan>& plan) {
  LOOM_TRY(gradients_, BatchGradients::create(*network_, plan, config_, loss_, trained_, restore_point_, scratch_));
  if (lbfgs_)
    rule_ = std::make_unique<LbfgsRule>(*gradients_, trained_, *lbfgs_);
  else
    rule_ = std::make_unique<GradientRule>(config_, *gradients_, trained_, optimizer_);
  return {};
}

Result<void> Trainer::create_tween(const std::shared_ptr<const ForwardPlan>& plan) {
  if (config_.lbfgs_history || config_.micro_batch != 0 || config_.tbptt_steps != 0 || config_.shards != 1 ||
      config_.workers != 1 || config_.clip_norm != 0 || config_.clip_value != 0 ||
      config_.session.mixed != Mixed::none || config_.session.checkpoint_every != 0)
    return fail(Code::InvalidConfig,
                "tween: micro_batch, accumulate, tbptt_steps, shards, workers, clipping, mixed, checkpoint_every and "
                "lbfgs belong to gradients");
  TweenConfig config = *config_.tween;
  config.optimizer = config_.optimizer;
  config.clamp_master = config_.clamp_master;
  NetworkSessionOptions options = config_.session;
  options.input_gradient = false;
  options.batches = true;
  LOOM_TRY(tween_, TweenSession::create(*network_, plan, config, options));
  OptimizerConfig given = config_.optimizer;
  given.name = folded_name(given.name);
  if (tween_->optimizer() == nullptr && given != OptimizerConfig())
    return fail(Code::InvalidConfig,
                "tween: its mode has an update rule of its own, only mirror and dtp have an optimizer");
  memory_.figures = Figures(options.device);
  rule_ = std::make_unique<TweenRule>(loss_, *tween_, memory_, device());
  return {};
}

std::vector<NetworkSession*> Trainer::sessions() {
  return tween_ ? std::vector<NetworkSession*>{&tween_->session()} : gradients_->sessions();
}

// Inputs and values in the network's element type, the class ids of losses that take them.
Result<Samples> Trainer::in_element(const Samples& batch) {
  if (batch.inputs.data == nullptr || batch.inputs.shape.rank() == 0)
    return fail(Code::InvalidArgument, "a batch without inputs");
  if (batch.inputs.shape.rank() == 1) {  // a number for each sample, or one sample's features
    LOOM_TRY(const Shape y, session().output_shape(batch.inputs.shape));
    if (y.rank() < 2)
      return fail(Code::ShapeMismatch, "inputs of shape {} give {}: a batch has an axis of samples before all others",
                  batch.inputs.shape.text(), y.text());
  }
  if (session().element() == Element::f64) return wide_.widened(batch);
  if (batch.inputs.element == Element::f64 || batch.values.element == Element::f64)
    return fail(Code::InvalidArgument, "the batch has float64 values, the network computes in float32");
  return batch;
}

Result<void> Trainer::check_divides() const {
  if (tween_) return fail(Code::Unsupported, "a step by targets (tween) has no gradients to divide over processes");
  if (lbfgs_)
    return fail(Code::Unsupported, "lbfgs asks for gradients at several points of a line: its steps are not divided");
  if (device() != nullptr) return fail(Code::Unsupported, "steps on a device are not divided");
  if (config_.shards < 2)
    return fail(Code::Unsupported, "shards: expected 2 or more, which is what processes divide, got {}",
                config_.shards);
  return {};
}

Result<ShardSum> Trainer::shard_sum(const Samples& given, std::size_t first, std::size_t count,
                                    const std::atomic<bool>* cancel) {
  const FpEnvironment environment;
  LOOM_TRY_VOID(check_divides());
  if (!is_shard_node(first, count, config_.shards))
    return fail(Code::InvalidArgument, "{} shards from {} on are no node of the tree over {}", count, first,
                config_.shards);
  LOOM_TRY(const Samples batch, in_element(given));
  auto sum = gradients_->run_node(batch, call_now(cancel), first, count);
  if (!sum && sum.error().code == Code::NonFinite)
    return ShardSum{first, count, gradients_->gradients_of(first), std::numeric_limits<double>::quiet_NaN()};
  return sum;
}

Result<void> Trainer::fetch_weights() {
  LOOM_TRY_VOID(trained_.fetch());
  return restore_point_.fetch();
}

double Trainer::learning_rate() const { return schedule_.rate(config_.schedule_by_epoch ? epoch_ : state_.steps); }

StepCall Trainer::call_now(const std::atomic<bool>* cancel) const {
  return {state_.steps, learning_rate(), state_.loss_scale, cancel, {}};
}

Result<StepReport> Trainer::step(const Samples& given, const std::atomic<bool>* cancel) {
  const DeviceTurn turn(config_.session.device);
  return run_step(given, cancel);
}

Result<StepReport> Trainer::step_from(const Samples& batch, std::span<const ShardSum> sums) {
  LOOM_TRY_VOID(check_divides());
  if (sums.empty()) return fail(Code::InvalidArgument, "no sums of shards");
  return run_step(batch, nullptr, sums);
}

Result<StepReport> Trainer::run_step(const Samples& given, const std::atomic<bool>* cancel,
                                     std::span<const ShardSum> sums) {
  const FpEnvironment environment;
  if (state_.skipped_in_a_row >= config_.max_skipped)
    return fail(Code::InvalidState, "training diverged: {} batches in a row were not finite", state_.skipped_in_a_row);
  LOOM_TRY(const Samples batch, in_element(given));
  StepCall call = call_now(cancel);
  call.sums = sums;
  LOOM_TRY_VOID(restore_point_.keep(exec(), sessions()));
  auto done = rule_->run(batch, call).and_then([&](StepOutcome outcome) -> Result<StepReport> {
    StepReport report{outcome.loss, call.learning_rate, outcome.gradient_norm, false, std::move(outcome.why), {}};
    return outcome.finite ? Result<StepReport>(std::move(report)) : skip(batch, std::move(report));
  });
  if (!done) {
    (void)restore_point_.put_back(exec(), sessions());  // parts of the batch may have run; the first error is reported
    return done;
  }
  if (done->skipped) return done;
  count_step();
  if (config_.commit_meta && !session().metas().empty()) LOOM_TRY_VOID(grant_changes(*done));
  return done;
}

// Counts a step that moved the weights.
void Trainer::count_step() {
  state_.skipped_in_a_row = 0;
  ++state_.steps;
  // Dynamic loss scale (T-70): doubled after kGoodSteps finite steps in a row, halved by skip().
  if (config_.session.mixed != Mixed::f16 || ++state_.good_steps != kGoodSteps) return;
  state_.loss_scale = std::min(kLargestLossScale, state_.loss_scale * 2);
  state_.good_steps = 0;
}

// Counts a step that was not finite; states and running statistics of its forward passes are discarded.
Result<StepReport> Trainer::skip(const Samples& batch, StepReport report) {
  LOOM_TRY_VOID(restore_point_.put_back(exec(), sessions()));
  report.skipped = true;
  if (report.why.empty()) {
    LOOM_TRY(report.why, first_bad_layer(batch));
    LOOM_TRY_VOID(restore_point_.put_back(exec(), sessions()));
  }
  ++state_.skipped;
  ++state_.skipped_in_a_row;
  state_.good_steps = 0;
  if (config_.session.mixed == Mixed::f16) state_.loss_scale = std::max(1.0, state_.loss_scale / 2);
  ++state_.steps;
  return report;
}

// Carries out the changes that metacognition layers asked for in the step's forward passes.
Result<void> Trainer::grant_changes(StepReport& report) {
  const Shape part = *rule_->last_part();
  LOOM_TRY(report.changes, loom::commit_meta(*network_, session(), part));
  std::vector<std::string> fresh;
  bool changed = false;
  for (const MetaEvent& event : report.changes) {
    changed = changed || event.refusal.empty();
    if (event.has_new_weights()) fresh.push_back(event.target);
  }
  return changed ? use_new_plan(part, fresh) : Result<void>();
}

Result<void> Trainer::use_new_plan(const Shape& batch, std::span<const std::string> fresh) {
  std::map<std::string, std::vector<std::byte>> kept;
  for (const Slot& slot : slots()) {
    const auto is_below = [&](const std::string& path) { return slot.name.starts_with(path + "."); };
    if (std::ranges::any_of(fresh, is_below)) continue;
    const auto* from = static_cast<const std::byte*>(slot.values.data);
    kept[slot.name].assign(from, from + slot.values.bytes());
  }
  const std::uint64_t steps = optimizer().steps();
  LOOM_TRY(optimizer_, Optimizer::create(config_.optimizer));
  LOOM_TRY_VOID(collect_parameters());
  if (tween_) LOOM_TRY_VOID(tween_->use_new_plan());
  for (const Slot& slot : slots())
    if (const auto found = kept.find(slot.name); found != kept.end() && found->second.size() == slot.values.bytes())
      std::ranges::copy(found->second, static_cast<std::byte*>(slot.values.data));
  if (tween_) LOOM_TRY_VOID(tween_->restored());
  optimizer().set_steps(steps), optimizer().forget_sizes();
  return session().prepare(batch);  // else it would have nothing for save_state() until its next pass
}

// Names the first layer whose output is not finite in an inference of this batch, in parts no larger than training's.
Result<std::string> Trainer::first_bad_layer(const Samples& batch) {
  Arena arena;  // of no scratch: outputs are looked at on this computer
  const Exec here{session().pool(), session().kernels(), arena};
  FiniteWatch watch(here, device());
  const std::size_t all = batch.size(), shard = ceil_div(all, config_.shards);
  const std::size_t each = config_.micro_batch == 0 ? shard : std::min(config_.micro_batch, shard);
  session().watch(&watch);
  Result<ConstView> ran;
  for (std::size_t at = 0; at < all && ran && watch.first == nullptr; at += each)
    ran = session().forward_host(part_of(batch, at, std::min(each, all - at)).inputs);
  session().watch(nullptr);
  if (watch.error) return tl::make_unexpected(*std::move(watch.error));
  if (!ran) return ran.error().text();
  if (watch.first == nullptr) return std::string("the gradient or the loss is not finite; every layer's output is");
  std::string place = "a layer";
  network_->each_layer([&](std::size_t, const std::string& path, Layer& layer) {
    if (&layer == watch.first) place = fmt::format("{} ({})", path, layer.kind());
  });
  return fmt::format("the output of {} is not finite", place);
}

Result<void> Trainer::restore_pairs(std::deque<Lbfgs::Pair> pairs) {
  if (!lbfgs_) return fail(Code::ShapeMismatch, "{} pairs of L-BFGS for another optimiser", pairs.size());
  const std::size_t elements = trained_.elements();
  for (const Lbfgs::Pair& pair : pairs)
    if (pair.s.size() != elements)
      return fail(Code::ShapeMismatch, "pairs of {} elements for {} weights", pair.s.size(), elements);
  return lbfgs_->restore(std::move(pairs));
}

Result<Trainer::Evaluation> Trainer::evaluate(const Samples& given, const std::atomic<bool>* cancel) {
  const FpEnvironment environment;
  const DeviceTurn turn(config_.session.device);
  LOOM_TRY(const Samples batch, in_element(given));
  StepMemory& own = memory();
  LOOM_TRY(const ConstView x, sent(device(), batch.inputs, own.inputs));
  PassExtras extras;
  extras.cancel = cancel;
  LOOM_TRY(const ConstView y, tween_ ? tween_->forward(x, extras) : session().forward(x, extras));
  LOOM_TRY(const LossCall call, own.loss_call(loss_, device(), batch, y));
  const Exec now = exec();
  LOOM_TRY_VOID(own.begin(now, false));
  LOOM_TRY(const PendingLoss loss, loss_.record(now, call, own.figures, own.failed));
  LOOM_TRY_VOID(status_of_pass(now));
  own.figures.fetch();
  if (device() != nullptr) LOOM_TRY_VOID(device()->check());
  LOOM_TRY(const ConstView output, brought(device(), y, own.output));
  return Evaluation{output, loss.value(own.figures)};
}

const TrainerState& Trainer::state() {
  state_.plateau = schedule_.plateau();
  state_.optimizer_steps = optimizer().steps();
  return state_;
}

Result<void> Trainer::restore(const TrainerState& state) {
  LOOM_TRY_VOID(schedule_.restore(state.plateau));
  if (!(state.loss_scale >= 1 && state.loss_scale <= kLargestLossScale))
    return fail(Code::CorruptData, "a loss scale of {}", state.loss_scale);
  if (tween_) LOOM_TRY_VOID(tween_->restored());
  for (std::size_t p = 0; p < trained_.weights().size(); ++p) LOOM_TRY_VOID(check_master_limit(trained_.limit(p)));
  state_ = state;
  optimizer().set_steps(state.optimizer_steps);
  return {};
}

std::vector<Trainer::Slot> Trainer::slots() const {
  std::vector<Slot> out;
  if (tween_)
    for (const TweenVelocity& part : tween_->state()) out.push_back({part.path, part.values, part.device});
  for (std::size_t p = 0; p < trained_.weights().size() && !tween_; ++p) {
    if (std::optional<double>& limit = trained_.limit(p))
      out.push_back({optimizer_.parameters()[p].path + ".limit", {&*limit, 1, 1, Element::f64}});
    for (const OptimizerSlot& slot : optimizer_.slots(p))
      out.push_back(
          {fmt::format("{}.{}", optimizer_.parameters()[p].path, slot.name), slot.values, config_.session.device});
  }
  return out;
}

std::vector<Trainer::Slot> Trainer::masters() {
  optimizer_.forget_sizes();
  std::vector<Slot> out;
  out.reserve(trained_.weights().size());
  for (std::size_t p = 0; p < trained_.weights().size(); ++p)
    out.push_back({optimizer_.parameters()[p].path, trained_.weights()[p]->master_for_update()});
  return out;
}

std::vector<std::vector<std::byte>> Trainer::save_states() {
  std::vector<std::vector<std::byte>> out;
  for (NetworkSession* session : sessions()) out.push_back(session->save_state());
  return out;
}

Result<void> Trainer::restore_states(std::span<const std::span<const std::byte>> saved) {
  const std::vector<NetworkSession*> all = sessions();
  if (saved.size() != all.size())
    return fail(Code::ShapeMismatch, "states of {} sessions, this training has {}", saved.size(), all.size());
  for (std::size_t s = 0; s < all.size(); ++s) LOOM_TRY_VOID(all[s]->restore_state(saved[s]));
  return {};
}

std::size_t Trainer::resident_bytes() const {
  if (tween_) return tween_->bytes();
  std::size_t bytes = gradients_->resident_bytes();
  for (const Slot& slot : slots()) bytes += slot.values.bytes();
  return bytes;
}

}  // namespace loom
