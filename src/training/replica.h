#pragma once
// A copy of a training's network that computes gradients for a run of the same config in another process
// (RunOptions::shards). It reads the samples from the same files and takes the weights of each step from the run, so
// that one which begins in the middle needs nothing else.

#include <memory>
#include <vector>

#include "training/training_run.h"

namespace loom {

class Replica {
 public:
  // Errors of TrainingRun::create() and Trainer::check_divides().
  static Result<std::unique_ptr<Replica>> create(TrainConfig config, const NetworkSessionOptions& session);
  // Takes over the weights of a step and opens its batch. ShapeMismatch for masters of another network, OutOfRange for
  // a batch that the data do not have.
  Result<void> begin(const ShardRequest& request);
  // Like Trainer::shard_sum(), for the step that was begun; InvalidState before any.
  Result<ShardSum> sum(std::size_t first, std::size_t count);
  const TrainingRun& run() const { return *run_; }
  std::size_t gradient_bytes() const { return run_->trainer().gradient_bytes(); }

 private:
  explicit Replica(std::unique_ptr<TrainingRun> run) : run_(std::move(run)) {}
  std::unique_ptr<TrainingRun> run_;
  std::optional<Samples> batch_;
};

}  // namespace loom
