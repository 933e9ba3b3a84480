#pragma once
// How one batch moves the weights: by a gradient, by L-BFGS along a line, or by targets.

#include <memory>

#include "learning/lbfgs.h"
#include "learning/tween/tween.h"
#include "training/batch_gradients.h"

namespace loom {

// Result of a step, before the trainer counts it.
struct StepOutcome {
  double loss = 0, gradient_norm = 0;  // the norm is measured only where clip_norm asks for it
  bool finite = true;                  // false: the weights are as they were before
  std::string why{};                   // of one that is not finite: the reason; empty where it is not known
};

class StepRule {
 public:
  virtual ~StepRule() = default;
  virtual Result<StepOutcome> run(const Samples& batch, const StepCall& call) = 0;
  // Input shape of the last part that ran in the trainer's session.
  virtual const std::optional<Shape>& last_part() const = 0;
};

// Clips the gradients of a batch and moves the weights by an optimiser.
class GradientRule final : public StepRule {
 public:
  GradientRule(const TrainerConfig& config, BatchGradients& gradients, TrainedWeights& trained, Optimizer& optimizer)
      : config_(config), gradients_(gradients), trained_(trained), optimizer_(optimizer) {}
  Result<StepOutcome> run(const Samples& batch, const StepCall& call) override;
  const std::optional<Shape>& last_part() const override { return gradients_.last_part(); }

 private:
  Result<StepOutcome> update(std::optional<double> loss, const StepCall& call);
  Result<void> record(const StepCall& call);
  Result<void> record_clipping(const Exec& now);

  const TrainerConfig& config_;
  BatchGradients& gradients_;
  TrainedWeights& trained_;
  Optimizer& optimizer_;
  Tensor clip_;                    // figures of clip_norm
  std::vector<Tensor> unclipped_;  // bounds on gradients before clip_value
};

class LbfgsRule final : public StepRule {
 public:
  LbfgsRule(BatchGradients& gradients, TrainedWeights& trained, Lbfgs& lbfgs)
      : gradients_(gradients), trained_(trained), lbfgs_(lbfgs) {}
  Result<StepOutcome> run(const Samples& batch, const StepCall& call) override;
  const std::optional<Shape>& last_part() const override { return gradients_.last_part(); }

 private:
  BatchGradients& gradients_;
  TrainedWeights& trained_;
  Lbfgs& lbfgs_;
};

class TweenRule final : public StepRule {
 public:
  TweenRule(const Loss& loss, TweenSession& tween, StepMemory& memory, Device* device)
      : loss_(loss), tween_(tween), memory_(memory), device_(device) {}
  Result<StepOutcome> run(const Samples& batch, const StepCall& call) override;
  const std::optional<Shape>& last_part() const override { return last_part_; }

 private:
  const Loss& loss_;
  TweenSession& tween_;
  StepMemory& memory_;
  Device* device_;
  std::optional<Shape> last_part_;
};

}  // namespace loom
