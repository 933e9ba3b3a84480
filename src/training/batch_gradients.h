#pragma once
// Gradients of the mean loss over a batch: forward, loss and backward of its parts (micro-batches, chunks of sequences,
// shards), in one session or in several side by side. Values of a device are not read before fetch().

#include <atomic>
#include <deque>
#include <memory>

#include "learning/loss.h"
#include "training/restore_point.h"
#include "training/samples.h"
#include "training/shard_tree.h"
#include "training/trainer_config.h"

namespace loom {

// Settings of one step.
struct StepCall {
  std::uint64_t step = 0;
  double learning_rate = 0, loss_scale = 1;
  const std::atomic<bool>* cancel = nullptr;
  std::span<const ShardSum> sums{};  // gradients that several processes have summed, in place of running the batch
};

// Memory beside a session for one part of a batch: what is sent to a device, targets of the loss, figures of the step.
struct StepMemory {
  Memory inputs, targets;
  Buffer one_hot, output;
  std::vector<std::int64_t> classes;
  Figures figures;
  Tensor failed;      // [1]: a loss, a gradient or an update is not finite
  Tensor unmeasured;  // [1]: a running statistic is not; on a graphics card, else without data

  // Takes figures for a step and clears them.
  Result<void> begin(const Exec& exec, bool watches_statistics);
  // Returns the loss arguments of a batch. An output without data gives shapes and classes only, which is all that
  // Loss::count() reads. ShapeMismatch, IndexOutOfRange.
  Result<LossCall> loss_call(const Loss& loss, Device* device, const Samples& batch, const ConstView& output);
};

class BatchGradients {
 public:
  // `scratch` is the memory of updates. InvalidConfig, Unsupported for settings that the network cannot have.
  static Result<std::unique_ptr<BatchGradients>> create(Network& network,
                                                        const std::shared_ptr<const ForwardPlan>& plan,
                                                        const TrainerConfig& config, const Loss& loss,
                                                        TrainedWeights& trained, const RestorePoint& measures,
                                                        Arena& scratch);

  NetworkSession& session() { return *workers_[0].session; }
  std::vector<NetworkSession*> sessions();
  StepMemory& memory() { return workers_[0].memory; }
  // Input shape of the last part that ran in session().
  const std::optional<Shape>& last_part() const { return last_part_; }
  Exec exec() { return {session().pool(), session().kernels(), *scratch_, nullptr, Activations::int16}; }

  // Whether forward passes change more than activations: running statistics, states, histories of metacognition.
  bool keeps_track_of_passes() const;
  // Refuses a batch that does not fit the network or the loss, without a pass. ShapeMismatch, IndexOutOfRange.
  Result<void> check(const Samples& batch);
  // Runs the batch; its gradients are listed in the trained weights.
  Result<void> run(const Samples& batch, const StepCall& call);
  // Brings figures from a device.
  Result<void> fetch();
  // Returns the loss of the batch, after fetch().
  double loss() const;
  // run(), fetch() and loss().
  Result<double> run_and_fetch(const Samples& batch, const StepCall& call);

  // Runs shards [first, first + count), one node of the tree. The loss is NaN where a figure is not finite.
  Result<ShardSum> run_node(const Samples& batch, const StepCall& call, std::size_t first, std::size_t count);
  // Adds up the sums of all shards in place of running them, and returns the loss.
  Result<double> take_sums(std::span<const ShardSum> sums);
  std::span<const std::byte> gradients_of(std::size_t shard) const { return shards_.gradients_of(shard); }

  std::size_t resident_bytes() const;

 private:
  // A PartLoss is the share of one part of a batch in the loss. Chunks of one micro-batch are added up before
  // micro-batches are.
  struct PartLoss {
    PendingLoss loss;
    Tensor gates;
    std::size_t shard = 0;
    bool begins = false;  // a micro-batch
  };
  struct Worker {
    std::unique_ptr<NetworkSession> session;
    Arena arena;
    Memory dy;
    StepMemory memory;
    SequenceChunk chunk;
    std::vector<PartLoss> parts;
    Exec exec() { return {session->pool(), session->kernels(), arena, nullptr, Activations::int16}; }
  };
  // The batch that runs.
  struct Running {
    StepCall call;
    std::size_t elements = 0;  // of its inputs
    double joint_count = 0;
  };

  BatchGradients(Network& network, const TrainerConfig& config, const Loss& loss, TrainedWeights& trained,
                 const RestorePoint& measures, Arena& scratch)
      : network_(&network),
        config_(&config),
        loss_(&loss),
        trained_(&trained),
        measures_(&measures),
        scratch_(&scratch),
        shards_(trained, network.settings.activations) {}
  Result<void> create_workers(const std::shared_ptr<const ForwardPlan>& plan);
  Result<void> check_parts();
  Result<void> begin(const Samples& batch, const StepCall& call);
  Result<double> joint_count(const Samples& batch);
  Result<void> run_part(Worker& worker, const Samples& part, std::size_t first);
  Result<void> run_chunks(Worker& worker, const Samples& part, std::size_t first);
  Result<void> run_samples(Worker& worker, const Samples& samples, std::size_t first, std::size_t shard);
  Result<void> run_shard(Worker& worker, std::size_t shard, const Samples& batch);
  Result<void> run_share(std::size_t worker, const Samples& batch);
  Result<void> run_shards(const Samples& batch);
  double loss_of(const Worker& worker, std::size_t shard) const;
  Device* device() const { return config_->session.device; }

  Network* network_;
  const TrainerConfig* config_;
  const Loss* loss_;
  TrainedWeights* trained_;
  const RestorePoint* measures_;
  Arena* scratch_;
  ShardTree shards_;
  std::vector<Worker> workers_;       // the first one's session is the trainer's own
  std::shared_ptr<ThreadPool> team_;  // runs the workers side by side
  Running running_;
  std::optional<Shape> last_part_;
};

}  // namespace loom
