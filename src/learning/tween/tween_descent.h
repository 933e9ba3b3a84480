#pragma once
// The update of the modes with feedback weights, mirror and dtp (engine W-62): every cell's weights descend the mean
// over rows of |f(x) - t|^2, and an optimiser takes the gradients of all weights at once. Masters, its slots and the
// feedback weights move in place, so their values before the step are kept until it has gone through.

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "learning/optimizer.h"
#include "learning/tween/tween_feedback.h"
#include "learning/tween/tween_trained.h"

namespace loom {

class TweenDescent {
 public:
  // `trained` outlives this object. Gradients come from the device; null: from the host.
  TweenDescent(TweenTrained& trained, std::unique_ptr<TweenFeedback> feedback, Device* device)
      : trained_(trained), feedback_(std::move(feedback)), device_(device) {}

  // Takes the layers and weights as `trained` lists them now, with new feedback weights and a new optimiser.
  // `by_derivatives`: gradients are those of the derivatives, else each has a factor of its kind. `find` is asked for
  // what a forward kept (TweenFeedback::own).
  Result<void> prepare(const OptimizerConfig& config, bool by_derivatives, TweenFeedback::Finder find);
  // One step of the weights whose velocities `moves` names, from gradients summed over `rows` rows; `exec` is of this
  // computer. NonFinite where a gradient or an update is not.
  Result<void> step(const Exec& exec, const std::vector<bool>& moves, const Gradients& given, double rows,
                    double learning_rate);

  // Saves the values before a step; put_back() restores them, once, and forget() drops them.
  void keep();
  void put_back(ThreadPool& pool);
  void forget() { is_kept_ = false; }

  TweenFeedback& feedback() { return *feedback_; }
  Optimizer& optimizer() { return *optimizer_; }
  std::size_t bytes() const;

 private:
  using LayerState = TweenTrained::LayerState;
  using WeightState = TweenTrained::WeightState;
  void each_kept(const std::function<void(const Tensor&, Weight*)>& visit);
  Result<void> descend(const Exec& exec, std::span<const Tensor> masters, std::span<const ConstTensor> gradients,
                       double learning_rate);
  Result<void> follow(const Exec& exec, std::span<const Tensor> masters);

  TweenTrained& trained_;
  std::unique_ptr<TweenFeedback> feedback_;
  Device* device_;
  Buffer brought_;  // a gradient
  std::optional<Optimizer> optimizer_;
  std::vector<Buffer> gradient_memory_;  // by velocity
  Buffer kept_;
  std::uint64_t kept_steps_ = 0;
  bool is_kept_ = false;
};

}  // namespace loom
