#pragma once
// Optimisers (engine 6.3): what an update rule of ops/update, which has its equation, needs around it: settings, state
// per weight, the step number, and the proof that an update leaves finite numbers before anything moves. t counts from
// 1. L-BFGS needs the loss again and again: lbfgs.h.

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/figures.h"
#include "ops/update/update.h"

namespace loom {

// Empty fields take the optimiser's own default (engine 6.3).
struct OptimizerConfig {
  std::string name = "sgd";
  double momentum = 0, dampening = 0;      // sgd; rmsprop has momentum
  bool nesterov = false;                   // asks for momentum without dampening
  std::optional<double> beta1{}, beta2{};  // adam, adamw .9 .999, lion .9 .99
  std::optional<double> alpha{};           // rmsprop .99
  std::optional<double> eps{};             // 1e-8, adagrad 1e-10
  bool amsgrad = false, centered = false;
  std::optional<double> weight_decay{};  // 0, adamw .01
  bool decay_vectors = false;            // biases, gains: weights of one axis. Asks for weight_decay
  bool operator==(const OptimizerConfig&) const = default;
};

// The optimiser's view of one weight. Its path names it in errors and checkpoints.
struct Parameter {
  std::string path;
  std::size_t elements = 0;
  Element element = Element::f32;
  bool vector = false;
  double rate_scale = 1;  // learning_rate_scale of its layer (T-06)
};

// A value that is kept per element of one weight.
struct OptimizerSlot {
  std::string_view name;  // "momentum", "m", "v", "v_max", "square", "mean"
  Tensor values;          // [1, elements], writable: a checkpoint is read into it
};

class Optimizer {
 public:
  // UnknownName with the nearest names; InvalidConfig for a setting outside its range or one this optimiser does not
  // have.
  static Result<Optimizer> create(const OptimizerConfig& config);

  // Takes the weights, in the order of all later calls, with their state at 0, on the device. InvalidConfig
  // for a rate_scale that is negative or not finite, EmptyTensor, OutOfMemory.
  Result<void> prepare(std::vector<Parameter> parameters, Device* device = nullptr);

  // One update. A weight without data is left out, its state too (frozen layers). InvalidArgument for a rate that is
  // negative or not finite; ShapeMismatch unless both lists agree with what was prepared; NonFinite with the weight
  // when an update leaves the range of its type: then no weight and no state has moved. exec.arena serves nothing else:
  // it is cleared, and allocated again where it is too small.
  Result<void> step(const Exec& exec, std::span<const Tensor> weights, std::span<const ConstTensor> gradients,
                    double learning_rate);

  // Like step() as part of a pass, in which nothing is read: record(), and after the pass, when its figures are valid,
  // finish(). Sets `failed` [1] of f32 where an update would leave the range; where it is not 0, now or from before, no
  // weight changes, and finish() says why; where the reason is not the optimiser's, finish() is not called. A rehearsal
  // plans scratch.
  Result<void> record(const Exec& exec, std::span<const Tensor> weights, std::span<const ConstTensor> gradients,
                      double learning_rate, Figures& figures, Tensor failed);
  Result<void> finish(const Figures& figures);
  // A bound on the gradients of the step that was recorded; not finite where they are not.
  double largest_gradient(const Figures& figures) const;

  std::span<const Parameter> parameters() const { return parameters_; }
  // Written to before the next step at the latest, or forget_sizes() follows.
  std::vector<OptimizerSlot> slots(std::size_t parameter) const;
  // To be called after other code wrote to weights or slots: the next step measures how large they are.
  void forget_sizes() const { sizes_.assign(parameters_.size(), {}); }
  // Steps done. Setting it is all that resuming needs besides the slots.
  std::uint64_t steps() const { return steps_; }
  void set_steps(std::uint64_t steps) { steps_ = steps; }

 private:
  // A Move is the part of a recorded step that concerns one weight.
  struct Move {
    bool moves = false;
    double most = 0;  // gradients up to this bound are harmless
    double learning_rate = 0;
    UpdateRule rule;
    Tensor bound;    // of the gradient
    Tensor outcome;  // of try_update()
    Tensor weight;   // bounds of the weight and its slots, where they have to be measured
    std::array<Tensor, kUpdateSlots> slot{};
  };

  Result<void> check() const;
  Result<void> check_step(std::span<const Tensor> weights, std::span<const ConstTensor> gradients,
                          double learning_rate) const;
  Result<void> plan(const Exec& exec, std::size_t parameter, ConstTensor weight, ConstTensor gradient,
                    Figures& figures);
  const UpdateRow& row() const { return update_rows()[static_cast<std::size_t>(rule_.kind)]; }
  UpdateRule rule_of(const Parameter& parameter, double learning_rate, std::uint64_t step) const;
  UpdateState state_of(std::size_t parameter) const;
  std::vector<std::string_view> slot_names() const;

  OptimizerConfig config_;
  UpdateRule rule_;  // its settings
  std::vector<Parameter> parameters_;
  std::vector<std::array<Memory, kUpdateSlots>> state_;
  std::vector<Move> moves_;  // of the step that was recorded
  std::uint64_t steps_ = 0;
  mutable std::vector<UpdateSizes> sizes_;  // slots() hands out what they are of
};

}  // namespace loom
