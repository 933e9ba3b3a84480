#pragma once
// A training with its record, as `loom train` and `loom replay` run it: by a config file, or by a config and samples
// that a program holds.

#include <atomic>
#include <functional>
#include <string>

#include "core/json_fwd.h"
#include "finetune/finetune.h"
#include "training/training_run.h"

namespace loom {

struct TrainOptions {
  // Folder of the run: journal, checkpoint, model, report. Where it is empty, a config file's run is stored beside it
  // under its name with the ending .run, and a run of a program leaves no files.
  std::string out{};
  std::string folder{};  // where the config's relative paths start; empty: the folder of its file
  RunStart start = RunStart::fresh;
  std::uint64_t epochs = 0;  // in place of the config's; 0: its own
  NetworkSessionOptions session{};
  std::function<void(TrainingRun&)> begun{};  // when all is open and no step is done
  TrainingRun::Callback progress{};           // of every event; Continue::stop ends the run after it
  const std::atomic<bool>* cancel = nullptr;  // set from any thread: ends the run as Continue::stop does
  ShardSource shards{};                       // gradients that other processes compute (training/replica.h)
};

struct TrainOutcome {
  std::string folder;  // of the run; empty: none
  TrainResult result;
  double seconds = 0;                       // from begun() on
  Precision precision = Precision::Strict;  // of the device: whether the hash proves anything
};

// The config in a file. Errors name the file.
Result<TrainOutcome> train_file(const std::string& config, const TrainOptions& options);
// A config as JSON, with what the program holds in memory. A network that is given has learned when the call returns.
Result<TrainOutcome> train(const Json& config, const TrainOptions& options, TrainingInput input = {});
Json to_json(const TrainOutcome& outcome);

struct ReplayOptions {
  std::string folder{};  // where the config's relative paths start; empty: as the journal says
  NetworkSessionOptions session{};
  TrainingRun::Callback progress{};           // of a training
  FinetuneCallback finetune_progress{};       // of a fine-tuning
  const std::atomic<bool>* cancel = nullptr;  // set from any thread: the call ends with Cancelled
};
// Returns the path of a run's journal: of a folder, its own, or that of the run inside an adapter's folder.
std::string journal_of(const std::string& path);
// Does the run of a journal again, a training's or a fine-tuning's, and compares every line, and those of dna.jsonl
// beside it. CorruptData with the first line that differs.
Result<ReplayReport> replay_file(const std::string& path, const ReplayOptions& options, TrainingInput input = {});
Json to_json(const ReplayReport& report);

}  // namespace loom
