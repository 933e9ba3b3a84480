#pragma once
// One network learning by gradients (engine 6.1): forward, loss, backward, clip, optimiser, weights encoded anew; or by
// targets (engine 7, learning/tween/tween.h), which has an update rule of its own in place of clip and optimiser. The
// bits of the weights after a step are a function of the weights before it, the batch and the configuration: not of
// threads, instruction sets or how the batch was cut into micro-batches of multiples of 16 samples (layers that measure
// their batch, as batchnorm does, see each on its own; the gradients of a weight with several uses are added use by use
// within each, engine V-21).

#include <atomic>
#include <memory>
#include <optional>

#include "learning/lbfgs.h"
#include "learning/loss.h"
#include "learning/optimizer.h"
#include "learning/schedule.h"
#include "learning/tween/tween.h"
#include "network/meta.h"

namespace loom {

struct TrainerConfig {
  LossConfig loss;
  OptimizerConfig optimizer;
  std::optional<std::size_t> lbfgs_history;  // L-BFGS over each batch in place of `optimizer`
  std::optional<TweenConfig> tween;          // targets in place of gradients; mirror and dtp use `optimizer`
  ScheduleConfig schedule;
  bool schedule_by_epoch = false;
  double clip_norm = 0, clip_value = 0;  // 0: off (T-40)
  // samples that run at once; 0: the whole batch. Multiples of 16 give its bits (T-41; but see above)
  std::size_t micro_batch = 0;
  // positions of a sequence [B, T, ...] that gradients travel back through (T-81); 0: all
  std::size_t tbptt_steps = 0;
  std::size_t shards = 1;  // of a batch; their gradients are added as a binary tree (numerics 2),
  // whatever the number of workers: sessions side by side, each with its share of the threads
  std::size_t workers = 1;
  MasterClamp clamp_master;       // of binary and ternary masters (D-36)
  bool frozen_scales = false;     // codes keep the scales that training began with (D-37)
  bool commit_meta = false;       // metacognition layers change the network between two steps (engine L-151)
  std::size_t max_skipped = 10;   // batches in a row that are not finite before training stops (T-04)
  NetworkSessionOptions session;  // `backward` and `input_gradient` are set here
};

// Samples in memory. Classes for the losses that take them (others see one-hot rows), or target values.
struct Samples {
  ConstView inputs;                       // [B, ...]; f32 is widened for networks of f64
  std::span<const std::int32_t> classes;  // [B, ...] of class ids
  ConstView values;                       // as many per sample as the output has
  std::size_t size() const { return inputs.shape[0]; }
};

struct StepReport {
  double loss = 0, learning_rate = 0, gradient_norm = 0;  // the norm is measured only where clip_norm asks for it
  bool skipped = false;                                   // loss, gradient or update was not finite: all is as before
  std::string why;                                        // of a skipped step: what was not finite first
  std::vector<MetaEvent> changes;                         // with commit_meta: what was asked for behind the step
};

// The gradients of some of a batch's shards, added as the tree over all of them adds them, and their share in the loss.
struct ShardSum {
  std::size_t first = 0, count = 0;        // is_shard_node()
  std::span<const std::byte> gradients{};  // of all weights that are trained, one behind the other
  double loss = 0;                         // one that is not finite skips the step
};
// Whether shards [first, first + count) are what one node of the tree adds up: a sum of others would have other bits.
bool is_shard_node(std::size_t first, std::size_t count, std::size_t shards);

// Everything between two steps beside the weights and the optimiser's slots.
struct TrainerState {
  std::uint64_t steps = 0, optimizer_steps = 0, good_steps = 0;  // good ones since the loss scale changed
  std::size_t skipped = 0, skipped_in_a_row = 0;
  double loss_scale = 1;
  PlateauState plateau;
};

class Trainer {
 public:
  // Creates a trainer of a network that is prepared for some input of [batch, sample]; it must outlive the trainer, and
  // nobody else may run it meanwhile. Layers with `trainable` false, and layers inside them, keep their weights (T-06).
  // InvalidConfig, UnknownName from losses, optimisers and schedules; InvalidArgument for a network without a weight to
  // train or without masters; Unsupported for mixed precision of a network that computes in f64.
  static Result<std::unique_ptr<Trainer>> create(Network& network, const TrainerConfig& config);

  // InvalidConfig at the key of a setting that nothing in this network reads: frozen scales where no type has scales, a
  // limit of masters where none is of a binary or ternary matrix.
  Result<void> check_effects() const;

  // One update from one batch. A step that is skipped leaves weights, optimiser, running statistics and states of
  // layers as they were (by targets, velocities begin anew). InvalidState after max_skipped batches in a row that were
  // not finite; ShapeMismatch. Setting `*cancel` from any thread ends the step with Cancelled before weights move: all
  // that a skipped step leaves is left, velocities and counters too.
  Result<StepReport> step(const Samples& batch, const std::atomic<bool>* cancel = nullptr);
  // A step over several processes: each gives the sums of some shards of the batch, and whoever has all of them moves
  // the weights, with the bits of step(). Unsupported with the reason where a step cannot be divided so: one shard,
  // targets in place of gradients, L-BFGS, a device.
  Result<void> check_divides() const;
  // Weights and counters stay; the gradients last until the next call. InvalidArgument for shards that are no node.
  Result<ShardSum> shard_sum(const Samples& batch, std::size_t first, std::size_t count,
                             const std::atomic<bool>* cancel = nullptr);
  // `sums`, in any order, are those of all shards: InvalidArgument for shards that are missing or there twice,
  // ShapeMismatch for gradients of another network.
  Result<StepReport> step_from(const Samples& batch, std::span<const ShardSum> sums);
  std::size_t gradient_bytes() const { return trained_.elements() * bytes_of(workers_[0].session->element()); }
  // Takes over the network, which was given other layers and prepared for such batches, and its sessions have adopted:
  // parameters anew. State stays by path, but for weights below `fresh`.
  Result<void> adopt(const Shape& batch, std::span<const std::string> fresh);
  // Inference (T-05): the output of [B, ...] and its loss. No weight changes; batches hand on states as in training,
  // see aside(). The view is valid until the next call. Setting `*cancel` from any thread ends it with Cancelled.
  struct Evaluation {
    ConstView output;
    LossValue loss;
  };
  Result<Evaluation> evaluate(const Samples& batch, const std::atomic<bool>* cancel = nullptr);
  // measure() evaluates batches that come after one another, the first from states of 0; training state is restored
  // afterwards.
  template <class F>
  Result<void> aside(F&& measure) {
    const std::vector<std::byte> before = session().carried();
    session().reset();
    Result<void> measured = measure();
    Result<void> back = session().carry(before);
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
    Device* device = nullptr;  // where the values lie; null: here
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
  // On a device weights and running statistics move there; this brings those that did, before the network is looked at
  // on this computer.
  Result<void> fetch_weights();
  // Masters of the weights that are trained, by path, readable and writable, behind fetch_weights(); commit_masters()
  // after writing.
  std::vector<Slot> masters();
  Result<void> commit_masters() {
    optimizer_.forget_sizes();
    for (Weight* w : trained_.weights) LOOM_TRY_VOID(w->commit_update(session().pool()));
    return {};
  }
  std::deque<Lbfgs::Pair> lbfgs_pairs() const { return lbfgs_ ? lbfgs_->pairs() : std::deque<Lbfgs::Pair>(); }
  // ShapeMismatch for pairs of another training.
  Result<void> restore_pairs(std::deque<Lbfgs::Pair> pairs);

  // State that each of its sessions carries from batch to batch (NetworkSession::carried), and its restoring.
  // ShapeMismatch for another number of sessions.
  std::vector<std::vector<std::byte>> carried();
  Result<void> carry(std::span<const std::span<const std::byte>> carried);

  Device* device() const { return config_.session.device; }
  NetworkSession& session() { return tween_ ? tween_->session() : *workers_[0].session; }
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
  // A PartLoss is the share of one part of a batch in the loss. Chunks of one micro-batch are added up before
  // micro-batches are.
  struct PartLoss {
    PendingLoss loss;
    Tensor gates;
    std::size_t shard = 0;
    bool begins = false;  // a micro-batch
  };
  // A session with what one part of a batch needs beside it.
  struct Worker {
    std::unique_ptr<NetworkSession> session;
    Arena arena;
    Memory dy, inputs, targets;  // on a device: what it was sent of a batch
    Buffer one_hot, chunk_inputs, chunk_values, output;
    std::vector<std::int64_t> classes;
    std::vector<std::int32_t> chunk_classes;
    Figures figures;    // of the step
    Tensor failed;      // [1]: a loss, a gradient or an update is not finite
    Tensor unmeasured;  // [1]: a running statistic is not; on a graphics card, else without data
    std::vector<PartLoss> parts;
    Exec exec() { return {session->pool(), session->kernels(), arena, nullptr, Activations::int16}; }
  };
  // The weights that are trained, by parameter of the optimiser, and views of them for the step that runs.
  struct Trained {
    std::vector<Weight*> weights;
    mutable std::vector<std::optional<double>> limits;  // of their masters' entries; slots() hands them out
    std::vector<Tensor> masters, gradients;
    std::vector<ConstTensor> const_gradients;
    // Makes room for the views; list() fills them, once a step.
    void resize_views();
    void list(const Exec& exec, Gradients& from);
    std::size_t elements() const;
  };
  // Running statistics (batchnorm) and carried states, which forward passes change: saved before a step, for one that
  // is skipped.
  struct Measures {
    std::vector<Weight*> statistics;
    std::vector<std::vector<double>> kept_statistics;
    std::vector<Memory> kept_there;                   // of statistics, on a graphics card
    std::vector<std::vector<std::byte>> kept_states;  // empty where sessions keep them on their card
  };
  // A batch in f64, for networks that compute in it.
  struct WideBatch {
    Buffer inputs, values;
    Result<Samples> widened(const Samples& batch);
  };
  // For what is done with whole gradients: a worker's own memory is planned only once it has had a sample.
  Exec update_exec() { return {session().pool(), session().kernels(), scratch_, nullptr, Activations::int16}; }
  Result<LossCall> loss_call(Worker& worker, const Samples& batch, const ConstView& output);
  Result<Samples> in_element(const Samples& batch);
  // Nothing of these reads a value: they run within a pass (or begin one), whose figures fetch() brings.
  Result<void> begin_figures();
  Result<void> run_batch(const Samples& batch);
  Result<void> run_part(Worker& worker, const Samples& part, std::size_t first, double joint_count);
  Result<void> run_samples(Worker& worker, const Samples& part, std::size_t first, double joint_count,
                           std::size_t shard);
  Result<void> run_chunks(Worker& worker, const Samples& part, std::size_t first, double joint_count);
  Result<void> run_shards(const Samples& batch, double joint_count);
  Result<void> run_share(std::size_t worker, const Samples& batch, double joint_count);
  Result<void> run_shard(Worker& worker, std::size_t shard, const Samples& batch, double joint_count);
  Result<double> run_node(const Samples& batch, std::size_t first, std::size_t count);
  Tensor shard_gradient(std::size_t shard);
  void add_shards(std::size_t first, std::size_t count);
  void take_gradients();
  Result<double> take_sums(std::span<const ShardSum> sums);
  Result<void> record_update(double learning_rate);
  Result<void> fetch();
  double loss_of(const Worker& worker, std::size_t shard) const;
  double loss_of_step() const;
  Result<double> gradients(const Samples& batch);
  Result<void> create_workers();
  Result<double> joint_count(const Samples& batch);
  Result<void> commit(Weight::Values values);
  void clamp_masters(const Exec& exec, ConstTensor failed);
  Optimizer& optimizer() { return tween_ && tween_->optimizer() != nullptr ? *tween_->optimizer() : optimizer_; }
  void settle_device();
  Result<void> create_tween();
  Result<StepReport> run_step(const Samples& given, std::span<const ShardSum> sums = {});
  Result<StepReport> tween_step(const Samples& batch, StepReport report);
  Result<StepReport> lbfgs_step(const Samples& batch, StepReport report);
  Result<StepReport> update(const Samples& batch, StepReport report, std::span<const ShardSum> sums);
  Result<void> grant_changes(StepReport& report);
  Result<StepReport> skip(const Samples& batch, StepReport report, const Error* error);
  Result<std::string> first_bad_layer(const Samples& batch);
  Result<void> keep_measures();
  Result<void> keep_states(const Exec& exec);
  Result<void> put_states_back(const Exec& exec);
  bool keeps_measures_there() const { return device() != nullptr && device()->gpu() != nullptr; }
  Result<void> put_measures_back();

  Network* network_;
  TrainerConfig config_;
  Loss loss_;
  Optimizer optimizer_;
  Schedule schedule_;
  std::optional<Lbfgs> lbfgs_;
  std::unique_ptr<TweenSession> tween_;
  std::vector<Worker> workers_;          // the first one's session is the trainer's own
  Arena scratch_;                        // of updates, and of losses that are only measured
  std::shared_ptr<ThreadPool> team_;     // runs the workers side by side
  std::vector<Memory> shard_gradients_;  // of all weights, one behind the other
  Tensor clip_;                          // figures of clip_norm
  std::vector<Tensor> unclipped_;        // bounds on gradients before clip_value
  Trained trained_;
  Measures measures_;
  WideBatch wide_;
  TrainerState state_;
  struct {
    std::size_t elements = 0;   // of its inputs
    std::optional<Shape> part;  // that ran last in it
    const std::atomic<bool>* cancel = nullptr;
  } running_;  // the step that runs
  std::uint64_t epoch_ = 0;
};

}  // namespace loom
