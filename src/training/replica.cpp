#include "training/replica.h"

#include <cstring>

namespace loom {

Result<std::unique_ptr<Replica>> Replica::create(TrainConfig config, const NetworkSessionOptions& session) {
  config.trainer.workers = 1;  // of threads: whoever divides a batch over processes has one for each
  RunOptions options;
  options.session = session;
  LOOM_TRY(auto run, TrainingRun::create(std::move(config), options));
  if (auto divides = run->trainer().check_divides(); !divides)
    return at(run->config().source, std::move(divides).error());
  return std::unique_ptr<Replica>(new Replica(std::move(run)));
}

Result<void> Replica::begin(const ShardRequest& request) {
  batch_.reset();
  Trainer& trainer = run_->trainer();
  LOOM_TRY_VOID(trainer.fetch_weights());
  std::size_t bytes = 0;
  const std::vector<Trainer::Slot> masters = trainer.masters();
  for (const Trainer::Slot& slot : masters) bytes += slot.values.bytes();
  if (request.masters.size() != bytes)
    return fail(Code::ShapeMismatch, "{} bytes of weights, the network's have {}", request.masters.size(), bytes);
  TrainerState state = trainer.state();
  state.steps = request.step, state.loss_scale = request.loss_scale;
  LOOM_TRY_VOID(trainer.restore(state));
  const std::byte* from = request.masters.data();
  for (const Trainer::Slot& slot : masters) {
    std::memcpy(slot.values.data, from, slot.values.bytes());
    from += slot.values.bytes();
  }
  LOOM_TRY_VOID(trainer.commit_masters());
  LOOM_TRY(batch_, run_->batch_at(request.epoch, request.position));
  return {};
}

Result<ShardSum> Replica::sum(std::size_t first, std::size_t count) {
  if (!batch_) return fail(Code::InvalidState, "no step was begun");
  return run_->trainer().shard_sum(*batch_, first, count);
}

}  // namespace loom
