#include "learning/tween/tween_descent.h"

#include <cstring>
#include <utility>

#include "backend/rehearsal.h"
#include "backend/travel.h"
#include "ops/elementwise/elementwise.h"
#include "ops/finite.h"
#include "ops/gap/gap.h"

namespace loom {

Result<void> TweenDescent::prepare(const OptimizerConfig& config, bool by_derivatives, TweenFeedback::Finder find) {
  is_kept_ = false;
  std::map<const Layer*, std::string> paths;
  for (const LayerState& state : trained_.layers)
    if (!state.weights.empty()) paths[state.layer] = state.path;
  LOOM_TRY_VOID(feedback_->own(paths, std::move(find), device_));
  LOOM_TRY(optimizer_, Optimizer::create(config));
  std::vector<Parameter> parameters;
  parameters.reserve(trained_.velocities.size());
  for (const TweenVelocity& v : trained_.velocities)
    parameters.push_back({v.path, v.values.cols, v.values.element, false, 1});
  for (const LayerState& state : trained_.layers)
    for (std::size_t i = 0; i < state.weights.size(); ++i) {
      WeightState& weight = trained_.weights[state.weights[i]];
      Parameter& parameter = parameters[weight.velocity];
      parameter.vector = state.named[i]->shape().rank() == 1, parameter.rate_scale = state.rate_scale;
      const bool is_gradient = by_derivatives || state.named[i]->role() == WeightRole::Adapter;
      weight.factor = is_gradient ? 1 : state.layer->tween_factor(*state.named[i]);
    }
  LOOM_TRY_VOID(optimizer_->prepare(std::move(parameters)));
  gradient_memory_.clear();
  for (const TweenVelocity& v : trained_.velocities) {
    LOOM_TRY(Buffer memory, Buffer::create(v.values.bytes()));
    gradient_memory_.push_back(std::move(memory));
  }
  std::size_t bytes = 0;
  for (WeightState& state : trained_.weights)
    if (state.weight != nullptr) state.kept_at = bytes, bytes += state.weight->master_for_update().bytes();
  bytes = 0;
  each_kept([&](const Tensor& values, Weight*) { bytes += values.bytes(); });
  LOOM_TRY(kept_, Buffer::create(bytes));
  return {};
}

Result<void> TweenDescent::step(const Exec& exec, const std::vector<bool>& moves, const Gradients& given, double rows,
                                double learning_rate) {
  std::vector<Tensor> masters(trained_.velocities.size());
  std::vector<ConstTensor> gradients(trained_.velocities.size());
  for (const WeightState& state : trained_.weights) {
    if (state.weight == nullptr || !moves[state.velocity] || !given.written(*state.weight)) continue;
    const Tensor to = state.weight->master_for_update();
    const Tensor g{gradient_memory_[state.velocity].data(), to.rows, to.cols, to.element};
    LOOM_TRY(const ConstView from,
             brought(device_, {given.of(*state.weight), Shape::of({to.rows, to.cols}), given.element()}, brought_));
    convert(exec, {from.data, to.rows, to.cols, from.element}, g);
    scale(exec, g, -2 * state.factor / rows, g);
    if (!all_finite(exec, g))
      return fail(Code::NonFinite, "tween: {}: the gradient is not finite", trained_.velocities[state.velocity].path);
    masters[state.velocity] = to, gradients[state.velocity] = g;
  }
  LOOM_TRY_VOID(descend(exec, masters, gradients, learning_rate));
  return follow(exec, masters);
}

Result<void> TweenDescent::descend(const Exec& exec, std::span<const Tensor> masters,
                                   std::span<const ConstTensor> gradients, double learning_rate) {
  LOOM_TRY_VOID(optimizer_->step(exec, masters, gradients, learning_rate));
  for (const WeightState& state : trained_.weights) {
    if (state.weight == nullptr || masters[state.velocity].data == nullptr) continue;
    if (state.limit.value_or(0) > 0) clamp(exec, *state.limit, masters[state.velocity]);
    if (!all_finite(exec, masters[state.velocity]))
      return fail(Code::NonFinite, "tween: {}: the update is not finite", trained_.velocities[state.velocity].path);
  }
  for (const WeightState& state : trained_.weights) {
    if (state.weight == nullptr || masters[state.velocity].data == nullptr) continue;
    if (auto done = state.weight->commit_update(exec.pool); !done)
      return at("tween: " + trained_.velocities[state.velocity].path, std::move(done).error());
  }
  return {};
}

// Updates the feedback weights by the changes of the weights.
Result<void> TweenDescent::follow(const Exec& exec, std::span<const Tensor> masters) {
  for (const LayerState& state : trained_.layers)
    for (std::size_t i = 0; i < state.weights.size(); ++i) {
      const WeightState& weight = trained_.weights[state.weights[i]];
      const Tensor& now = masters[weight.velocity];
      if (now.data == nullptr) continue;
      const ConstTensor before{kept_.data() + weight.kept_at, now.rows, now.cols, now.element};
      Result<void> done;
      const auto run = [&](const Exec& scratch) {
        done = feedback_->follow(scratch, *state.layer, *state.named[i], before, now);
      };
      LOOM_TRY_VOID(plan_scratch(exec, run));
      run(exec);
      LOOM_TRY_VOID(done);
    }
  return {};
}

// Visits all values that a step changes; `Weight*` is null for those that are not weights.
void TweenDescent::each_kept(const std::function<void(const Tensor&, Weight*)>& visit) {
  for (const WeightState& state : trained_.weights)
    if (state.weight != nullptr) visit(state.weight->master_for_update(), state.weight);
  for (std::size_t p = 0; p < optimizer_->parameters().size(); ++p)
    for (const OptimizerSlot& slot : optimizer_->slots(p)) visit(slot.values, nullptr);
  feedback_->visit_weights([&](const std::string&, Weight& w) { visit(w.master_for_update(), &w); });
}

void TweenDescent::keep() {
  kept_steps_ = optimizer_->steps(), is_kept_ = true;
  std::byte* to = kept_.data();
  each_kept([&](const Tensor& values, Weight*) {
    to = std::copy_n(static_cast<const std::byte*>(values.data), values.bytes(), to);
  });
}

// Weights whose values had changed are committed again.
void TweenDescent::put_back(ThreadPool& pool) {
  if (!std::exchange(is_kept_, false)) return;
  const std::byte* from = kept_.data();
  each_kept([&](const Tensor& values, Weight* weight) {
    const bool same = std::memcmp(values.data, from, values.bytes()) == 0;
    std::memcpy(values.data, from, values.bytes());
    from += values.bytes();
    if (weight != nullptr && !same) static_cast<void>(weight->commit_update(pool));
  });
  optimizer_->set_steps(kept_steps_);
}

std::size_t TweenDescent::bytes() const {
  std::size_t bytes = kept_.size() + feedback_->bytes();
  for (const Buffer& memory : gradient_memory_) bytes += memory.size();
  return bytes;
}

}  // namespace loom
