#pragma once
// Trains one network by gradients (engine 6.1): forward, loss, backward, clip, update, re-encode. Or by
// targets (engine 7, learning/tween/tween.h), which has an update rule of its own in place of clip and optimiser. The
// bits of the weights after a step are a function of the weights before it, the batch and the configuration: not of
// threads, instruction sets or how the batch was cut into micro-batches of multiples of 16 samples (layers that measure
// their batch, as batchnorm does, see each on its own; the gradients of a weight with several uses are added use by use
// within each, engine V-21).

#include <atomic>
#include <memory>
#include <optional>

#include "network/meta.h"
#include "training/step_rule.h"

namespace loom {

struct StepReport {
  double loss = 0, learning_rate = 0, gradient_norm = 0;  // the norm is measured only where clip_norm asks for it
  bool skipped = false;                                   // loss, gradient or update was not finite: all is as before
  std::string why;                                        // of a skipped step: what was not finite first
  std::vector<MetaEvent>
      changes;  // with commit_meta: changes that metacognition layers requested, applied after the step
};

// Everything between two steps beside the weights and the optimiser's slots.
struct TrainerState {
  std::uint64_t steps = 0, optimizer_steps = 0, good_steps = 0;  // good ones since the loss scale changed
  std::size_t skipped = 0, skipped_in_a_row = 0;
  double loss_scale = 1;
  PlateauState plateau;
};

class Trainer {
 public:
  // Creates a trainer of a plan for some input of [batch, sample]. The network must outlive the trainer, and nobody
  // else may run it meanwhile. Layers with `trainable` false, and layers inside them, keep their weights (T-06).
  // InvalidConfig, UnknownName from losses, optimisers and schedules; InvalidArgument for a network without a weight to
  // train or without masters; Unsupported for mixed precision of a network that computes in f64.
  static Result<std::unique_ptr<Trainer>> create(Network& network, const std::shared_ptr<const ForwardPlan>& plan,
                                                 const TrainerConfig& config);
  // Plans for this batch first: ForwardPlan::create() and its errors.
  static Result<std::unique_ptr<Trainer>> create(Network& network, const Shape& batch, const TrainerConfig& config);

  // InvalidConfig at the key of a setting that nothing in this network reads: frozen scales where no type has scales, a
  // limit of masters where none is of a binary or ternary matrix.
  Result<void> check_effects() const;

  // Makes one update from one batch. A step that is skipped leaves weights, optimiser, running statistics and states of
  // layers as they were (with target propagation, velocities restart). InvalidState after max_skipped batches in a row
  // that were not finite; ShapeMismatch. Setting `*cancel` from any thread ends the step with Cancelled before weights
  // move; such a step leaves the same things as they were, and velocities and counters too.
  Result<StepReport> step(const Samples& batch, const std::atomic<bool>* cancel = nullptr);
  // A step over several processes: each gives the sums of some shards of the batch, and whoever has all of them moves
  // the weights, with the bits of step(). Unsupported with the reason where a step cannot be divided so: one shard,
  // targets in place of gradients, L-BFGS, a device.
  Result<void> check_divides() const;
  // Weights and counters stay; the gradients last until the next call. InvalidArgument if the shards do not form a node
  // (is_shard_node()).
  Result<ShardSum> shard_sum(const Samples& batch, std::size_t first, std::size_t count,
                             const std::atomic<bool>* cancel = nullptr);
  // `sums`, in any order, are those of all shards: InvalidArgument for shards that are missing or given twice,
  // ShapeMismatch for gradients of another network.
  Result<StepReport> step_from(const Samples& batch, std::span<const ShardSum> sums);
  std::size_t gradient_bytes() const { return trained_.elements() * bytes_of(network_->settings.activations); }
  // Takes over the network after it was given other layers, and after its sessions took a plan for such batches:
  // collects the parameters again. State stays by path, but for weights below `fresh`.
  Result<void> use_new_plan(const Shape& batch, std::span<const std::string> fresh);
  // Inference (T-05): the output of [B, ...] and its loss. No weight changes; batches hand on states as in training,
  // see run_and_restore(). The view is valid until the next call. Setting `*cancel` from any thread ends it with
  // Cancelled.
  struct Evaluation {
    ConstView output;
    LossValue loss;
  };
  // OutOfRange for values that the loss cannot have as targets; for batches that users give. step() does not ask.
  Result<void> check_targets(const Samples& batch) const { return loss_.check_values(batch.values); }
  Result<Evaluation> evaluate(const Samples& batch, const std::atomic<bool>* cancel = nullptr);
  // measure() evaluates batches that come after one another, the first from states of 0; training state is restored
  // afterwards.
  template <class F>
  Result<void> run_and_restore(F&& measure) {
    const std::vector<std::byte> before = session().save_state();
    session().reset();
    Result<void> measured = measure();
    Result<void> back = session().restore_state(before);
    return measured ? back : measured;
  }

  // The rate of the coming step.
  double learning_rate() const;
  void set_epoch(std::uint64_t epoch) { epoch_ = epoch; }
  void observe(double metric) { schedule_.observe(metric); }  // plateau

  const TrainerState& state();
  Result<void> restore(const TrainerState& state);
  // Optimiser state by name, "layers.0.weight.m", readable and writable, in path order.
  struct Slot {
    std::string name;
    Tensor values;
    Device* device = nullptr;  // device that stores the values; null: host memory
    void read(std::span<std::byte> to) const {
      device != nullptr ? device->read(values.as<std::byte>(), to)
                        : void(std::copy_n(values.as<std::byte>(), to.size(), to.data()));
    }
    void write(std::span<const std::byte> from) const {
      device != nullptr ? device->write(values.as<std::byte>(), from)
                        : void(std::copy_n(from.data(), from.size(), values.as<std::byte>()));
    }
  };
  std::vector<Slot> slots() const;
  // Copies weights and running statistics that moved on a device to the host; call it before the host reads the
  // network.
  Result<void> fetch_weights();
  // Returns the masters of the trained weights, by path, readable and writable. Call fetch_weights() before, and
  // commit_masters() after writing.
  std::vector<Slot> masters();
  Result<void> commit_masters() {
    optimizer_.forget_sizes();
    for (Weight* w : trained_.weights()) LOOM_TRY_VOID(w->commit_update(session().pool()));
    return {};
  }
  std::deque<Lbfgs::Pair> lbfgs_pairs() const { return lbfgs_ ? lbfgs_->pairs() : std::deque<Lbfgs::Pair>(); }
  // ShapeMismatch for pairs of another training.
  Result<void> restore_pairs(std::deque<Lbfgs::Pair> pairs);

  // State that each of its sessions takes from batch to batch, by NetworkSession::save_state() and restore_state().
  // ShapeMismatch for another number of sessions.
  std::vector<std::vector<std::byte>> save_states();
  Result<void> restore_states(std::span<const std::span<const std::byte>> saved);

  Device* device() const { return config_.session.device; }
  NetworkSession& session() { return tween_ ? tween_->session() : gradients_->session(); }
  // In training by targets: figures of each cell's target in the last step.
  std::span<const TweenUse> tween_uses() const { return tween_ ? tween_->uses() : std::span<const TweenUse>(); }
  const Network& network() const { return *network_; }
  std::span<const Parameter> parameters() const { return optimizer_.parameters(); }
  // Bytes that training keeps beside the weights: activations, gradients, optimiser state.
  std::size_t resident_bytes() const;

 private:
  Trainer(Network& network, const TrainerConfig& config, Loss loss, Optimizer optimizer, Schedule schedule)
      : network_(&network),
        config_(config),
        loss_(std::move(loss)),
        optimizer_(std::move(optimizer)),
        schedule_(std::move(schedule)) {}
  Result<void> collect_parameters();
  Result<void> create_gradients(const std::shared_ptr<const ForwardPlan>& plan);
  Result<void> create_tween(const std::shared_ptr<const ForwardPlan>& plan);
  void settle_device(const std::shared_ptr<const ForwardPlan>& plan);
  Optimizer& optimizer() { return tween_ && tween_->optimizer() != nullptr ? *tween_->optimizer() : optimizer_; }
  // For work with whole gradients: a worker's own memory is planned only once it has had a sample.
  Exec exec() { return {session().pool(), session().kernels(), scratch_, nullptr, Activations::int16}; }
  StepMemory& memory() { return tween_ ? memory_ : gradients_->memory(); }
  std::vector<NetworkSession*> sessions();
  StepCall call_now(const std::atomic<bool>* cancel) const;
  Result<Samples> in_element(const Samples& batch);
  Result<StepReport> run_step(const Samples& given, const std::atomic<bool>* cancel,
                              std::span<const ShardSum> sums = {});
  void count_step();
  Result<StepReport> skip(const Samples& batch, StepReport report);
  Result<std::string> first_bad_layer(const Samples& batch);
  Result<void> grant_changes(StepReport& report);

  Network* network_;
  TrainerConfig config_;
  Loss loss_;
  Optimizer optimizer_;
  Schedule schedule_;
  Arena scratch_;  // of updates, and of losses that are only measured
  TrainedWeights trained_;
  RestorePoint restore_point_;
  WideBatch wide_;
  std::unique_ptr<BatchGradients> gradients_;  // or tween_ with its memory_
  std::unique_ptr<TweenSession> tween_;
  StepMemory memory_;
  std::optional<Lbfgs> lbfgs_;
  std::unique_ptr<StepRule> rule_;
  TrainerState state_;
  std::uint64_t epoch_ = 0;
};

}  // namespace loom
