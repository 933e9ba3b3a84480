#pragma once
// A training between two steps in one .entity file (engine T-60): the network with its masters, section "optim" with
// the optimiser's concatenated slots and the states that sessions keep from batch to batch, section "train" with
// everything else as JSON. Written atomically; every section is hashed, so that a torn file is never read. A training
// that leaves most of a network as it is keeps the masters of the rest alone, as slots before the optimiser's.

#include <chrono>
#include <optional>
#include <string>

#include "core/journal.h"
#include "core/json.h"
#include "training/trainer.h"

namespace loom {

// Position of a run, beside the trainer's own state.
struct RunPosition {
  std::uint64_t epoch = 0;    // that runs, from 0
  std::uint64_t samples = 0;  // of it that were used
  double loss_sum = 0;        // over its batches that counted
  std::uint64_t loss_batches = 0;
  std::vector<double> loss_history;  // of finished epochs
  std::uint64_t validations = 0, bad_validations = 0;
  std::optional<double> best;  // of early stopping
  std::string best_hash;       // of the weights in best.entity
  // by tween: the journal's text about each cell after the last step
  std::string cells;
  std::optional<double> first_validation;  // loss before the first step, where it was measured
};

enum class Keep : std::uint8_t { network, trained };  // all of it, or the masters of the weights that are trained

// Says in the start of a journal, a checkpoint or an outcome that its run is not exact; nothing of one that is.
void add_precision(Json& to, Precision precision);

// Adds to the error of a run whose card was lost or is full where it can go on; nothing to others.
void add_way_on(Error& error, const Trainer& trainer, std::optional<std::uint64_t> saved_step);

// `identity`: the inputs of a run, which must not change before it goes on: config, hashes of data and networks. The
// journal's lines are on the disk before the file that counts on them. DiskFull, IoError: the old file is unharmed.
Result<void> save_checkpoint(const std::string& path, Trainer& trainer, const RunPosition& position,
                             const Json& identity, Journal& journal, Keep keep = Keep::network);

struct Checkpoint {
  std::optional<Network> network;    // of Keep::network
  Json train;                        // section "train"
  std::vector<std::byte> optimizer;  // section "optim"
  JournalMark journal;               // that the run's journal begins with
};

// CorruptData for a file that is torn or no checkpoint; errors of load_network().
Result<Checkpoint> read_checkpoint(const std::string& path);
Result<Checkpoint> parse_checkpoint(std::span<const std::byte> bytes);

// Puts the state of a checkpoint into a trainer of its network. InvalidConfig for one of another precision;
// ShapeMismatch, CorruptData with the first slot that differs.
Result<RunPosition> restore_trainer(const Checkpoint& checkpoint, Trainer& trainer);

// InvalidConfig with the first difference unless the checkpoint's run is the one of `identity`; members of its config
// named in `changeable` may differ.
Result<void> check_identity(const std::string& path, const Checkpoint& checkpoint, const Json& identity,
                            std::span<const std::string_view> changeable = {});
Result<void> check_identity(const std::string& path, const Json* said, Json identity,
                            std::span<const std::string_view> changeable = {});

// The clock decides when the next checkpoint is due. A disk takes a tenth of a second to keep a file and a small step a
// thousandth to run, so writing takes at most a twentieth of a run's time.
class CheckpointClock {
 public:
  explicit CheckpointClock(std::chrono::duration<double> pause = std::chrono::seconds(1)) : pause_(pause) {}
  bool due() const { return Clock::now() >= next_; }
  template <class F>
  Result<void> time(F&& write) {
    const auto start = Clock::now();
    Result<void> written = write();
    const auto took = Clock::now() - start;
    next_ = start + took +
            std::max(std::chrono::duration_cast<Clock::duration>(pause_),
                     pause_.count() > 0 ? 20 * took : Clock::duration{});
    return written;
  }

 private:
  using Clock = std::chrono::steady_clock;
  std::chrono::duration<double> pause_;
  Clock::time_point next_{};
};

}  // namespace loom
