#include "training/step_rule.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/pass_error.h"
#include "backend/rehearsal.h"
#include "backend/travel.h"
#include "learning/clip.h"
#include "ops/all.h"
#include "ops/finite.h"
#include "ops/magnitude/magnitude.h"

namespace loom {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

bool is_not_finite(const Error& error) { return error.code == Code::NonFinite; }

StepOutcome not_finite(double loss, std::string why) { return {.loss = loss, .finite = false, .why = std::move(why)}; }

// Encodes the masters; an error says which update it was.
Result<void> commit(TrainedWeights& trained, const Exec& exec, Weight::Values values, const StepCall& call) {
  if (auto done = trained.commit(exec, values); !done)
    return fail(done.error().code, "{} after the update of step {} (learning rate {})", done.error().text(), call.step,
                call.learning_rate);
  return {};
}

}  // namespace

Result<StepOutcome> GradientRule::run(const Samples& batch, const StepCall& call) {
  if (!call.sums.empty()) {
    LOOM_TRY(const double loss, gradients_.take_sums(call.sums));
    return std::isfinite(loss) ? update(loss, call) : not_finite(loss, {});
  }
  if (auto ran = gradients_.run(batch, call); !ran) {
    if (!is_not_finite(ran.error())) return tl::make_unexpected(std::move(ran).error());
    return not_finite(kNaN, ran.error().text());
  }
  return update({}, call);
}

// `loss`: where it is known already.
Result<StepOutcome> GradientRule::update(std::optional<double> loss, const StepCall& call) {
  LOOM_TRY_VOID(record(call));
  LOOM_TRY_VOID(gradients_.fetch());
  const StepMemory& memory = gradients_.memory();
  const Figures& figures = memory.figures;
  if (memory.unmeasured.data != nullptr && figures.at(memory.unmeasured) != 0)
    return not_finite(kNaN, Error{Code::NonFinite, "running statistics are not finite"}.text());
  StepOutcome out{.loss = loss ? *loss : gradients_.loss()};
  double largest = optimizer_.largest_gradient(figures);
  for (const Tensor& bound : unclipped_) largest = std::max(largest, figures.at(bound));
  if (config_.clip_norm > 0) largest = out.gradient_norm = norm_of(figures, clip_);
  if (figures.at(memory.failed) != 0) {
    const bool is_update = std::isfinite(out.loss) && std::isfinite(largest);
    const Result<void> moved = is_update ? optimizer_.finish(figures) : Result<void>();
    out.finite = false;
    if (!moved) out.why = moved.error().text();
    return out;
  }
  LOOM_TRY_VOID(optimizer_.finish(figures));
  LOOM_TRY_VOID(commit(trained_, gradients_.exec(), Weight::Values::Finite, call));
  return out;
}

// From gradients to moved masters, or to none where something is not finite.
Result<void> GradientRule::record(const StepCall& call) {
  const Exec now = gradients_.exec();
  StepMemory& memory = gradients_.memory();
  if (memory.unmeasured.data != nullptr) add(now, memory.failed, memory.unmeasured, memory.failed);
  // The backward pass ran on loss_scale * loss.
  if (call.loss_scale != 1)
    for (const Tensor& g : trained_.gradients()) scale(now, g, 1 / call.loss_scale, g);
  LOOM_TRY(clip_, memory.figures.take(1, kClipFigures, gradients_.session().element()));
  LOOM_TRY_VOID(plan_scratch(now, [&](const Exec& rehearsal) {
    if (config_.clip_norm > 0) (void)clip_norm(rehearsal, trained_.gradients(), config_.clip_norm, clip_);
    (void)optimizer_.record(rehearsal, trained_.masters(), trained_.const_gradients(), call.learning_rate,
                            memory.figures, memory.failed);
  }));
  LOOM_TRY_VOID(record_clipping(now));
  LOOM_TRY_VOID(optimizer_.record(now, trained_.masters(), trained_.const_gradients(), call.learning_rate,
                                  memory.figures, memory.failed));
  trained_.clamp_masters(now, memory.failed);
  return status_of_pass(now);
}

Result<void> GradientRule::record_clipping(const Exec& now) {
  StepMemory& memory = gradients_.memory();
  const std::vector<Tensor>& gradients = trained_.gradients();
  unclipped_.clear();
  if (config_.clip_norm > 0) {
    LOOM_TRY_VOID(clip_norm(now, gradients, config_.clip_norm, clip_));
    check_finite(now, {clip_.data, 1, 1, clip_.element}, memory.failed);
  }
  if (!(config_.clip_value > 0)) return {};
  for (std::size_t p = 0; config_.clip_norm == 0 && p < gradients.size(); ++p) {  // clipping would hide an infinity
    LOOM_TRY(const Tensor bound, memory.figures.take(1, 1, gradients[p].element));
    magnitude_bound(now, gradients[p], bound);
    check_finite(now, bound, memory.failed);
    unclipped_.push_back(bound);
  }
  return clip_value(now, gradients, config_.clip_value);
}

Result<StepOutcome> LbfgsRule::run(const Samples& batch, const StepCall& call) {
  LOOM_TRY_VOID(gradients_.check(batch));
  // Where passes leave traces their number is part of the numerics: these networks keep one before the search.
  if (gradients_.keeps_track_of_passes()) {
    const auto before = gradients_.run_and_fetch(batch, call);
    if (!before && !is_not_finite(before.error())) return tl::make_unexpected(before.error());
  }
  trained_.list(gradients_.exec(), gradients_.session().gradients());
  const auto outcome =
      lbfgs_.step(trained_.masters(), trained_.const_gradients(), call.learning_rate, [&]() -> Result<double> {
        // Called at trial points of the line search: the network must see the moved masters first.
        LOOM_TRY_VOID(commit(trained_, gradients_.exec(), Weight::Values::Any, call));
        return gradients_.run_and_fetch(batch, call);
      });
  if (outcome && outcome->moved) trained_.clamp_masters(gradients_.exec(), {});
  // After an error the masters are back where they were.
  LOOM_TRY_VOID(commit(trained_, gradients_.exec(), Weight::Values::Any, call));
  if (!outcome && is_not_finite(outcome.error())) return not_finite(kNaN, outcome.error().text());
  if (!outcome) return tl::make_unexpected(outcome.error());
  return StepOutcome{.loss = outcome->loss};
}

Result<StepOutcome> TweenRule::run(const Samples& batch, const StepCall& call) {
  PassExtras extras;
  extras.training = true;
  extras.step = static_cast<std::uint32_t>(call.step);
  extras.cancel = call.cancel;
  LOOM_TRY(const ConstView x, sent(device_, batch.inputs, memory_.inputs));
  last_part_ = x.shape;
  const auto y = tween_.forward(x, extras);
  if (!y && is_not_finite(y.error())) return not_finite(0, y.error().text());
  if (!y) return tl::make_unexpected(y.error());
  LOOM_TRY(const LossCall loss, memory_.loss_call(loss_, device_, batch, *y));
  auto moved =
      tween_.step({.values = loss.target, .classes = loss.classes, .loss = &loss_}, call.learning_rate, call.cancel);
  if (!moved && is_not_finite(moved.error())) return not_finite(tween_.loss(), moved.error().text());
  // Masters that moved out of the range of their type: nothing to skip, training has diverged.
  if (!moved && moved.error().code == Code::OutOfRange) moved.error().code = Code::NonFinite;
  LOOM_TRY_VOID(std::move(moved));
  return StepOutcome{.loss = tween_.loss()};
}

}  // namespace loom
