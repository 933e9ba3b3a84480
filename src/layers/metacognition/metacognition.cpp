#include "layers/metacognition/metacognition.h"

#include <cmath>
#include <utility>

#include "layers/lengths.h"
#include "ops/elementwise/elementwise.h"

namespace loom {

constinit const LayerKind Metacognition::kKind{
    .id = 19,
    .name = "metacognition",
    .aliases = "meta",
    .help = "y = effect(f(x), m): a layer f that is watched, and a small network that may act on what it gives",
    .shapes = "as in the observed layer",
    .make = make_layer<Metacognition>,
    .inside = Inside::Wrapped};
namespace {

constexpr std::size_t kFigures = TensorStats::kCount;

bool holds(const MetaRule& rule, const MetaState& state, const TensorStats& before, const TensorStats& after) {
  switch (rule.condition) {
    case MetaCondition::None: return false;
    case MetaCondition::StdAbove: return after.std > rule.threshold;
    case MetaCondition::StdBelow: return after.std < rule.threshold;
    case MetaCondition::AvgAbove: return std::abs(after.avg) > rule.threshold;
    case MetaCondition::AvgBelow: return std::abs(after.avg) < rule.threshold;
    case MetaCondition::MaxAbove: return std::abs(after.max) > rule.threshold;
    case MetaCondition::ActiveBelow: return after.active / after.total < rule.threshold;
    case MetaCondition::GradientStorm:
      return state.remembered() >= 3 && after.std / (state.before(2).std + 1e-8) > rule.threshold;
    case MetaCondition::GainDrift:
      return std::abs(before.avg) >= 1e-6 && std::abs(std::abs(after.avg) / std::abs(before.avg) - 1) > rule.threshold;
  }
  return false;
}

}  // namespace

void MetaRule::fields(ConfigVisitor& visit) {
  visit.choice({"condition", "Figure that is compared with the threshold; std_above: the deviation of f(x)"}, condition,
               {"none", "std_above", "std_below", "avg_above", "avg_below", "max_above", "active_below",
                "gradient_storm", "gain_drift"});
  visit({"threshold", "Number that the condition compares with"}, threshold);
  visit.choice({"command", "Request: another kind of layer, morph (another type), reset (to the identity)"}, command,
               {"dense|70", "cnn1|80", "rnn|81", "softmax|83", "rmsnorm|90", "swiglu|91", "mha|92", "lstm|93",
                "kmeans|98", "morph|99", "reset|101"});
  visit({"param", "kmeans: clusters; morph: number of the type; without self_only the x of a cell"}, param);
  visit({"cooldown", "Calls that a rule lets pass after one in which it held"}, cooldown);
  visit({"self_only", "The observed layer is meant; else the cell (0, 0, param, 0)"}, self_only);
}

void Metacognition::fields(FieldVisitor& visit) {
  visit({"meta_observed_layer", "Required. The layer f"}, observed_);
  visit({"meta_network", "The layer that makes m of what meta_source names; an effect needs one"}, network_);
  visit.choice(
      {"meta_source", "Input of the meta network: x, six figures of f(x), those of the last 100 calls, or f(x)"},
      config_.source, {"input", "stats", "history", "activations"});
  visit.choice({"meta_effect", "gate: y = f(x) sigmoid(m0); noise: up to m0; intervention: m1... where m0 > 0.5"},
               config_.effect, {"none", "gate", "noise", "intervention"});
  visit.objects({"meta_rules", "A list: conditions on the figures, and what each asks for; without it three rules"},
                config_.rules);
  visit({"train_meta", "Whether training moves the weights of the meta network"}, config_.train_meta);
}

Result<void> Metacognition::build() {
  if (!observed_)
    return fail(Code::InvalidConfig, "metacognition: meta_observed_layer, the layer to watch, is missing");
  if (has_effect() && !network_) return fail(Code::InvalidConfig, "metacognition: an effect needs a meta_network");
  return {};
}

void Metacognition::visit_children(const std::function<void(const std::string&, Layer&)>& visit) {
  visit("meta_observed_layer", *observed_);
  if (network_) visit("meta_network", *network_);
}

std::optional<StateNeeds> Metacognition::state_needs() const {
  StateNeeds needs;
  needs.meta = true, needs.site = site;
  return needs;
}

LayerPtr Metacognition::exchange_observed(LayerPtr layer) {
  std::swap(observed_, layer);
  return layer;
}

Result<Shape> Metacognition::observed_shape(const Wiring* wiring, const Shape& input) const {
  if (observed_->common.is_disabled) return input;
  auto out = observed_->wired_shape(wiring, input);
  if (!out) return under({"meta_observed_layer"}, std::move(out).error());
  return out;
}

Shape Metacognition::source_shape(const Shape& x, const Shape& y) const {
  switch (config_.source) {
    case Source::Input: return x;
    case Source::Activations: return y;
    case Source::Stats: return Shape::of({1, kFigures});
    case Source::History: return Shape::of({1, MetaState::kHistory, kFigures});
  }
  return x;
}

ConstTensor Metacognition::by_group(const ConstView& m) const {
  const std::size_t groups = is_per_sample() && m.shape.rank() > 1 ? m.shape[0] : 1;
  return {m.data, groups, m.shape.elements() / groups, m.element};
}

Result<Shape> Metacognition::wired_shape(const Wiring* wiring, const Shape& input) const {
  LOOM_TRY(const Shape y, observed_shape(wiring, input));
  if (!has_effect()) return y;
  auto m = network_->common.is_disabled ? Result<Shape>(source_shape(input, y))
                                        : network_->wired_shape(wiring, source_shape(input, y));
  if (!m) return under({"meta_network"}, std::move(m).error());
  const ConstTensor groups = by_group({nullptr, *m});
  if (groups.rows != 1 && groups.rows != y[0])
    return fail(Code::ShapeMismatch, "meta_network: {} of it for {} samples of the observed layer", groups.rows, y[0]);
  if (config_.effect == Effect::Intervention && groups.cols < 2)
    return fail(Code::ShapeMismatch, "meta_network: one output, an intervention needs at least two");
  return y;
}

// The figures `now` come last; of what was before, figures that the host remembers.
ConstView Metacognition::source(const Exec& exec, const MetaState* state, const Tensor& now, const ConstView& x,
                                const ConstView& y) const {
  if (config_.source == Source::Input) return x;
  if (config_.source == Source::Activations) return y;
  const View to = exec.arena.view(source_shape(x.shape, y.shape), x.element);
  fill_zero(exec, to);
  const auto entry = [&](std::size_t i) {
    return Tensor{exec.rehearsal() ? nullptr : static_cast<std::byte*>(to.data) + i * bytes_of(x.element), 1, 1,
                  x.element};
  };
  const std::size_t last = to.shape.elements() - kFigures;
  Tensor newest = entry(last);
  newest.cols = kFigures;
  copy(exec, now, newest);
  if (config_.source != Source::History || state == nullptr) return to;
  for (std::size_t back = 1; back < MetaState::kHistory && back <= state->remembered(); ++back) {
    const TensorStats& s = state->before(back - 1);
    const double figures[kFigures] = {s.avg, s.std, s.max, s.min, s.active, s.total};
    for (std::size_t i = 0; i < kFigures; ++i) fill(exec, entry(last - back * kFigures + i), figures[i]);
  }
  return to;
}

// The history takes this call first, so that entry -1 is now.
void Metacognition::remember(MetaState& state) const {
  state.fetch_figures();
  const TensorStats before = TensorStats::read(state.figures_of(0)), after = TensorStats::read(state.figures_of(1));
  state.history[static_cast<std::size_t>(state.calls++ % MetaState::kHistory)] = after;
  for (std::size_t i = 0; i < config_.rules.size(); ++i) {
    const MetaRule& rule = config_.rules[i];
    if (state.spoke[i] != 0 && state.calls - state.spoke[i] <= rule.cooldown) continue;
    if (!holds(rule, state, before, after)) continue;
    state.spoke[i] = state.calls;
    state.queued.set(i);
  }
}

void hear(std::span<MetaState> states) {
  for (MetaState& state : states)
    if (const Metacognition* layer = std::exchange(state.layer, nullptr)) layer->remember(state);
}

void Metacognition::forward(const Run& run, const ConstView& x, const View& y) const {
  if (has_effect() && refuses_lengths(run, kind(), x.shape.rows())) return;
  const ArenaScope scope(run.arena(), run.keeps());
  // An effect must not write where it reads what was said.
  const bool says_itself = config_.source == Source::Activations && network_ != nullptr && network_->common.is_disabled;
  const View y0 = has_effect() && (run.keeps() || says_itself) ? run.view(y.shape, y.element) : y;
  observed_->common.is_disabled ? copy(run, x, y0) : run_forward(*observed_, run, x, y0);
  if (run.exec.status) return;
  MetaState* const state = run.state_of(*this, run.states.metas);
  Tensor now = run.tensor(1, kFigures, y.element);
  if (state != nullptr && run.rehearsal()) {
    tensor_statistics(run, x, now);
  } else if (state != nullptr) {
    state->layer = this, state->element = y.element, state->input = x.shape, state->output = y.shape;
    if (auto placed = state->put_figures_on(run.arena().device()); !placed) {
      run.exec.status = std::move(placed).error();
      return;
    }
    tensor_statistics(run, x, state->written_figures(0));
    now = state->written_figures(1);
  }
  if (state != nullptr || config_.source == Source::Stats || config_.source == Source::History)
    tensor_statistics(run, y0, now);
  if (!has_effect()) return;
  const ConstView said = source(run, state, now, x, y0);
  ConstView m = said;
  if (!network_->common.is_disabled) {
    const View to = run.view(*network_->wired_shape(run.wiring, said.shape), x.element);  // checked by the plan
    run_forward(*network_, run, said, to);
    if (run.exec.status) return;
    m = to;
  }
  apply_effect(run, config_.effect, {run.seed, RandomDomain::Noise, run.step, site}, y0, by_group(m), y,
               run.first_element(y.shape));
  run.save(said, m, y0);
}

void Metacognition::observed_back(const Run& run, const ConstView& dy, const View& dx, const TweenRules* rules) const {
  if (!observed_->common.is_disabled) return run_backward(*observed_, run, dy, dx, rules);
  if (dx.data != nullptr) copy(run, dy, dx);
}

// The target of the observed layer is its own output + e. A backward pass of zeros through the meta network takes that
// network's values from the tape.
void Metacognition::target(const Run& run, const TweenRules& rules, const ConstView& e, const View& d) const {
  if (!has_effect()) return observed_back(run, e, d, &rules);
  const ArenaScope scope(run.arena());
  const auto [said, m, y0] = run.saved<3>();
  if (!network_->common.is_disabled) {
    const View none = run.view(m.shape, m.element);
    fill_zero(run, none);
    Run inner = run;
    inner.gradients = nullptr, inner.watch = nullptr;
    run_backward(*network_, inner, none, {nullptr, said.shape, e.element}, &rules);
  }
  observed_back(run, e, d, &rules);
}

void Metacognition::backward(const Run& run, const ConstView& dy, const View& dx) const {
  if (!has_effect()) return observed_back(run, dy, dx, nullptr);
  const ArenaScope scope(run.arena());
  const auto [said, m, y0] = run.saved<3>();
  const View dy0 = run.view(dy.shape, dy.element), dm = run.view(m.shape, m.element);
  const ConstTensor groups = by_group(m);
  apply_effect_backward(run, config_.effect, {run.seed, RandomDomain::Noise, run.step, site}, dy, y0, groups, dy0,
                        {dm.data, groups.rows, groups.cols, dm.element}, run.first_element(dy.shape));
  View dsaid = dm;
  if (!network_->common.is_disabled) {
    Run inner = run;
    if (!config_.train_meta) inner.gradients = nullptr;
    dsaid = View{nullptr, said.shape, dy.element};
    if (is_per_sample()) dsaid = run.view(said.shape, dy.element);
    run_backward(*network_, inner, dm, dsaid);
    if (run.exec.status) return;
  }
  if (config_.source == Source::Activations) add(run, dy0, dsaid, dy0);
  observed_back(run, dy0, dx, nullptr);
  if (config_.source == Source::Input && dx.data != nullptr && !run.exec.status) add(run, dx, dsaid, dx);
}

}  // namespace loom
