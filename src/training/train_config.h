#pragma once
// A training as a JSON file says it (docs/guide/training.md lists every key). Unknown keys are errors.

#include <optional>
#include <string>

#include "core/json.h"
#include "dtypes/dtype.h"
#include "training/metrics.h"
#include "training/trainer.h"

namespace loom {

struct EarlyStop {
  std::optional<Metric> metric;  // of the validation samples; none: never
  std::uint64_t patience = 5;    // validations without a better value
  double min_delta = 0;          // what counts as better
  bool higher_is_better = false;
  bool restore_best = true;  // the final weights are those of the best validation
};

// A training computes in one of these modes (engine T-02), with the same bits. Modes of a GPU need a session's device.
enum class ComputeMode : std::uint8_t { Cpu, CpuTiled, CpuParallel, Gpu, GpuTiled, GpuParallel };
constexpr bool is_gpu(ComputeMode mode) { return mode >= ComputeMode::Gpu; }

// Inputs that a program holds in memory and gives to the run beside its config (training/training_run.h): the config
// then has no "network", and its "data" no format and paths.
struct HeldInMemory {
  bool network = false, samples = false;
};

struct TrainConfig {
  Json json;                                    // as it was given, for journals
  std::string folder;                           // relative paths start in it
  std::string source;                           // the file that it is from, for errors in its settings of the network
  Json network, data;                           // a path or a spec; engine 6 and training/data_config.h
  ComputeMode mode = ComputeMode::CpuParallel;  // Cpu and CpuTiled run on one thread
  bool cpu_fallback = false;                    // a mode of a GPU may be one of the CPU, with a warning
  std::uint64_t seed = 0, epochs = 10, batch_size = 32, accumulate = 1;
  bool shuffle = false, drop_last = false;
  std::optional<DType> dtype;  // matrices are trained in this type (QAT: the masters stay f32)
  TrainerConfig trainer;
  bool schedule_total_given = false;  // else the schedule spans the whole run
  EarlyStop early_stop;
  std::uint64_t checkpoint_steps = 0;  // besides the end of every epoch; 0: no others
  std::uint64_t hash_steps = 100;      // steps between two weight hashes in the journal
  bool keep_dna = true;                // dna.jsonl: for whoever runs the training (host/dna_recorder.h)
  HeldInMemory held;
};

// InvalidConfig, UnknownKey, UnknownName with the key as their place; CorruptData for text that is no JSON.
Result<TrainConfig> parse_train_config(std::string_view text, const std::string& folder, HeldInMemory held = {});
Result<TrainConfig> read_train_config(const Json& json, const std::string& folder, HeldInMemory held = {});
// The keys of single steps alone, for whoever brings the batches: UnknownKey for those of a whole training.
Result<TrainConfig> read_step_config(const Json& json);

// JSON Schema (draft 2020-12) of such a file.
Json train_schema();

}  // namespace loom
