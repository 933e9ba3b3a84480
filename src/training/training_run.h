#pragma once
// A whole training by its config: data, epochs, validation, checkpoints, journal (engine 6.1, 6.6, 6.7). Network and
// samples come from files that the config names or are held in memory by a program. The run folder holds
//   journal.jsonl      what replay proves             checkpoint.entity   the newest state, to resume from
//   best.entity        of the best validation         model.entity        the trained network, when the run has ended
//   report.html        for people                     config.json         as it was given
//   timings.jsonl      what it took, for the report

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/run_folder.h"
#include "training/checkpoint.h"
#include "training/data_config.h"
#include "core/journal.h"
#include "training/metrics.h"
#include "training/timings.h"
#include "training/train_config.h"

namespace loom {

// The inputs of the gradients of one step, for the caller that computes them: the batch and the weights.
struct ShardRequest {
  std::uint64_t epoch = 0, position = 0;  // samples of the epoch before the batch
  std::uint64_t step = 0;
  double loss_scale = 1;
  std::size_t shards = 0, gradient_bytes = 0;
  std::span<const std::byte> masters{};  // of all weights that are trained, concatenated
};
// Gives the sums of all shards, which last until the next call.
using ShardSource = std::function<Result<std::vector<ShardSum>>(const ShardRequest&)>;

struct RunOptions {
  std::string out{};                 // folder; empty: nothing is written
  RunStart start = RunStart::fresh;  // resume: go on from out/checkpoint.entity where there is one
  NetworkSessionOptions session{};   // threads, isa
  Json machine{};                    // an object for the report: cpu, isa...
  // set from any thread: the step that runs is dropped, and the run ends as by Continue::stop
  const std::atomic<bool>* cancel = nullptr;
  ShardSource shards{};  // computes the gradients of every step in place of the run's own trainer
};

// Inputs of a program in place of files. A network is trained in place: nobody else runs or changes it meanwhile. To
// resume or replay a run it is given as it was when that began.
struct TrainingInput {
  std::optional<TrainingArrays> samples{};
  std::shared_ptr<Network> network{};
  HeldInMemory held() const { return {network != nullptr, samples.has_value()}; }
};

enum class TrainEvent : std::uint8_t {
  TrainBegin,
  EpochBegin,
  BatchBegin,
  BatchEnd,
  ValidationEnd,
  Checkpoint,
  EpochEnd,
  TrainEnd
};

// Why a run ended, and the names that journals, reports and JSON have for it. A stopped run can be resumed.
enum class TrainingStop : std::uint8_t { NotYet, Finished, EarlyStop, Stopped, Diverged };
inline constexpr std::string_view kTrainingStops[] = {"", "finished", "early_stop", "stopped", "diverged"};
constexpr std::string_view name(TrainingStop stop) { return kTrainingStops[static_cast<std::size_t>(stop)]; }

// Argument of callbacks (T-51).
struct TrainProgress {
  TrainEvent event = TrainEvent::TrainBegin;
  std::uint64_t epoch = 0, epochs = 0;             // from 0
  std::uint64_t step = 0, batch = 0, batches = 0;  // steps in all; batches of this epoch done, and in all
  std::uint64_t samples = 0;                       // of this batch
  double loss = 0, learning_rate = 0;              // of the last batch; at EpochEnd the epoch's mean
  std::uint64_t skipped = 0;
  const StepReport* report = nullptr;        // BatchEnd
  std::string_view warning{};                // BatchEnd: the loss runs away
  const Metrics* validation = nullptr;       // ValidationEnd, EpochEnd where there was one
  const Network* network = nullptr;          // that learns, with its weights as of now
  TrainingStop stop = TrainingStop::NotYet;  // TrainEnd
};

enum class Continue : std::uint8_t { yes, stop };

struct TrainResult {
  std::vector<double> loss_history;  // per epoch: the mean over the batches that counted
  double final_loss = 0;
  std::vector<double> epoch_times_ms;  // wall clock of the epochs that this call ran to their ends
  double total_time_ms = 0;            // of this call
  std::uint64_t steps = 0, skipped_batches = 0;
  TrainingStop stop_reason = TrainingStop::NotYet;
  std::string message;                // of diverged: what happened where
  std::vector<std::string> warnings;  // of the report, which is no reason to fail
  Digest hash{};
  std::optional<Metrics> validation;  // of the final weights
};

class TrainingRun {
 public:
  // Runs on the calling thread; an error of a callback ends the training with it, weights as of the last step.
  using Callback = std::function<Result<Continue>(const TrainProgress&)>;

  // Opens data and network, and the checkpoint of a run to resume: InvalidConfig when config (but for `epochs`), data
  // or a file that holds the network are not what they were, with the first difference; InvalidState while another
  // process writes into the folder, InvalidArgument for a fresh run in a folder that holds one; ShapeMismatch with the
  // cell for data that the network does not take; UnknownName...
  // InvalidArgument for a config that was not read for what `input` holds.
  static Result<std::unique_ptr<TrainingRun>> create(TrainConfig config, const RunOptions& options,
                                                     TrainingInput input = {});

  // May be called once. Afterwards the folder is free for others.
  Result<TrainResult> run(const Callback& callback = nullptr);

  // Called with every line of the journal before it is written; an error ends the run. Replay compares lines in it.
  void on_journal(std::function<Result<void>(const Json&)> f) { journal_.watch(std::move(f)); }

  // The batch after `position` samples of an epoch, valid until the next call: for a replica (training/replica.h).
  Result<Samples> batch_at(std::uint64_t epoch, std::uint64_t position);

  const Network& network() const { return *network_; }
  Trainer& trainer() { return *trainer_; }
  const TrainingData& data() const { return data_; }
  const TrainConfig& config() const { return config_; }
  const RunPosition& position() const { return position_; }
  std::uint64_t batches() const { return batches_->batches(); }
  bool resumed() const { return resumed_; }
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  TrainingRun(TrainConfig config, RunOptions options) : config_(std::move(config)), options_(std::move(options)) {}
  // After an error the caller's network may have other layers, types and plans: create() puts them back.
  Result<void> open(std::optional<TrainingArrays> arrays);
  Result<void> open_data(std::optional<TrainingArrays> arrays);
  Result<void> take_folder();
  Result<Json> identity() const;
  tl::unexpected<Error> of_network(Error error) const;
  Result<void> open_network();
  Result<void> open_checkpoint();
  Result<void> check_output(const ForwardPlan& plan);
  Result<void> check_early_stop(const Shape& output);
  Result<void> start_trainer();
  Result<void> check_effect();
  Result<void> look_over_settings();
  Result<Samples> samples_of(const Batch& batch);
  Result<StepReport> step(const Samples& samples);
  Result<void> begin_journal();
  Result<TrainResult> train(const Callback& callback);
  Result<Continue> epoch(const Callback& callback, TrainResult& result);
  Result<Continue> end_epoch(const Callback& callback, TrainResult& result);
  Result<Metrics> validate();
  Result<bool> stops_early(const Metrics& metrics);
  void describe_cells();
  Result<void> save_state();
  Result<void> finish(TrainResult& result);
  Result<void> restore_best();
  Result<void> take_over(Network& best);
  void begin_timings();
  void end_timings(TrainResult& result);
  Result<Continue> tell(const Callback& callback, TrainProgress progress);
  std::string file(std::string_view name) const { return options_.out + "/" + std::string(name); }

  TrainConfig config_;
  RunOptions options_;
  TrainingData data_;
  std::shared_ptr<Network> network_;
  std::optional<Network> replaced_;  // the caller's, by that of a checkpoint, until all is open
  std::unique_ptr<Trainer> trainer_;
  std::optional<Batches> batches_, validation_;
  Json identity_;  // that a checkpoint must share
  std::optional<FolderLock> lock_;
  std::optional<Checkpoint> checkpoint_;
  CheckpointClock clock_;
  RunPosition position_;
  Journal journal_;
  Timings timings_;
  LossWatch loss_watch_;
  std::vector<std::string> warnings_;
  std::string why_on_host_ = "no graphics card was given";  // to a training in a mode of a GPU
  Shape sample_shape_;
  std::vector<std::byte> best_;  // the network of the best validation, of runs without a folder
  bool resumed_ = false;
  std::optional<std::uint64_t> saved_step_;  // of the checkpoint in the folder
};

struct ReplayReport {
  std::uint64_t lines = 0, steps = 0;  // of the journal that agreed
  Digest hash{};
};

// Repeats the training in a journal and compares every hash, loss and metric. CorruptData with the first line that
// differs. `folder`: where the config's relative paths start; empty: as the journal says. `input`: what the run was
// given in memory.
Result<ReplayReport> replay(const std::string& journal, const std::string& folder, const NetworkSessionOptions& session,
                            const TrainingRun::Callback& callback = nullptr, TrainingInput input = {});

}  // namespace loom
