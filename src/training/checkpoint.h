#pragma once
// A training between two steps in one .entity file (engine T-60): the network with its masters, section "optim" with the optimiser's
// slots one behind the other, section "train" with everything else as JSON. Written atomically; every section is hashed, so that a
// torn file is never read.

#include <string>

#include "training/trainer.h"

namespace loom {

// Where a run stands beside the trainer's own state.
struct RunPosition {
  std::uint64_t epoch = 0;          // that runs, from 0
  std::uint64_t samples = 0;        // of it that were used
  double loss_sum = 0;              // over its batches that counted
  std::uint64_t loss_batches = 0;
  std::vector<double> loss_history; // of finished epochs
  std::uint64_t validations = 0, bad_validations = 0;
  std::optional<double> best;       // of early stopping
};

// DiskFull, IoError: the file that stood there before is unharmed.
Result<void> save_checkpoint(const std::string& path, Trainer& trainer, const RunPosition& position, const Json& config);

struct Checkpoint {
  Network network;
  Json train;                       // section "train"
  std::vector<std::byte> optimizer; // section "optim"
};

// CorruptData for a file that is torn or no checkpoint; errors of load_network().
Result<Checkpoint> read_checkpoint(const std::string& path);

// Puts the state of a checkpoint into a trainer of its network. ShapeMismatch, CorruptData with the first slot that differs.
Result<RunPosition> restore_trainer(const Checkpoint& checkpoint, Trainer& trainer);

// The first place in which two JSON texts differ, as a pointer with both values; empty when they are equal.
std::string first_difference(const Json& a, const Json& b, const std::string& pointer = "");

}  // namespace loom
