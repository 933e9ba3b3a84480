#pragma once
// A loaded language model learns a text by low-rank adapters (Hu et al. 2021): its own weights stay as they are, packed
// in whatever type they were loaded in, and only the adapters have gradients, masters and optimiser state.
// Deterministic, like all training of Loom.

#include <atomic>
#include <chrono>
#include <functional>

#include "core/run_folder.h"
#include "lm/peft.h"
#include "training/training_run.h"

namespace loom {

// Ids of a text as samples for next-token training: [length] ids and, as classes, the ids one place on; windows follow
// one another.
class TokenWindows final : public Dataset {
 public:
  // ShapeMismatch for fewer than length + 1 ids; IndexOutOfRange for an id outside the vocabulary.
  static Result<std::unique_ptr<TokenWindows>> create(std::vector<std::int32_t> ids, std::size_t length,
                                                      std::size_t vocab_size, std::string source);

 protected:
  Result<void> read_sample(std::size_t sample, const SampleBuffers& to) const override;

 private:
  TokenWindows(DatasetInfo info, std::vector<std::int32_t> ids) : Dataset(std::move(info)), ids_(std::move(ids)) {}
  std::vector<std::int32_t> ids_;
};

struct FinetuneConfig {
  PeftConfig adapter;
  // tokens of a window, windows per step, windows that run at once
  std::size_t length = 128, batch_size = 4, micro_batch = 1;
  std::uint64_t epochs = 1, steps = 0;  // steps 0: all of the epochs
  double validation_split = 0.1;        // the last windows
  std::size_t validation_windows = 16;  // of them at most
  std::uint64_t seed = 0;
  OptimizerConfig optimizer{.name = "adamw"};
  ScheduleConfig schedule{
      .name = "cosine", .learning_rate = 2e-4, .warmup_steps = 10};  // with its warm-up it takes the whole run
  double clip_norm = 1;
  std::uint64_t hash_steps = 10;  // steps between two hashes of the adapters in the journal
  NetworkSessionOptions session;
};

// All of it but the session, which changes no bit, and what follows from the data. Errors of read_config().
Json finetune_config_json(const FinetuneConfig& config);
Result<FinetuneConfig> finetune_config_from_json(const Json& json);

// Paths of the inputs; results depend on them only through the hashes of text and weights.
struct FinetuneSources {
  // from: folder of adapters that go on learning; dtype: of the weights on load. Empty: none
  std::string model, text, from, dtype;
};

// Record of a run beside its adapters: folder/journal.jsonl, which replay proves, and folder/checkpoint.entity, which
// holds the masters of the adapters, the optimiser's slots, the place in the text and the losses so far, but none of
// the model's own weights.
struct FinetuneRecord {
  std::string folder{};              // empty: nothing is written
  RunStart start = RunStart::fresh;  // resume: go on from the checkpoint, where there is one
  // that of the folder, or where it goes, by who writes more beside it; null: the run's own
  std::optional<FolderLock>* lock = nullptr;
  FinetuneSources sources{};
  std::chrono::duration<double> checkpoint_pause{5};      // at least this long between two checkpoints
  std::function<Result<void>(const Json&)> on_journal{};  // sees every line before it is written
  // set from any thread: the step that runs is dropped, and the run ends as by Continue::stop
  const std::atomic<bool>* cancel = nullptr;
};

struct FinetuneProgress {
  std::uint64_t step = 0, steps = 0, tokens = 0;
  std::uint64_t new_steps = 0, new_tokens = 0;  // of this call: a run that goes on has others before it
  double loss = 0, learning_rate = 0;
  std::optional<double> validation_loss{};  // before the first step and after the last one
};

struct FinetuneResult {
  std::uint64_t steps = 0, tokens = 0, new_steps = 0;
  std::vector<double> losses;  // of every step, those before a stop too
  // mean loss per token, natural logarithm; 0 without validation windows
  double validation_before = 0, validation_after = 0;
  std::size_t scratch_bytes = 0, adapter_parameters = 0;
  bool stopped = false;
  Precision precision = Precision::Strict;  // of the device
  Digest hash{};                            // of the adapters
};

// Runs on the calling thread; an error of it ends the run with it, and nothing more is written.
using FinetuneCallback = std::function<Result<Continue>(const FinetuneProgress&)>;

// The model gets fresh adapters, unless it has some of that name, which then go on learning. Returning `stop` ends the
// run with the adapters as they are, and with a checkpoint of them. A run that was stopped or killed anywhere and
// resumed, whatever its threads and instruction sets, ends with the bits and the journal of one that never was.
// CorruptData for a torn checkpoint or a journal that is not its own, InvalidConfig for that of another run with the
// first difference (settings, text, weights), InvalidState while another process writes, InvalidArgument for a
// fresh run where there is one, DiskFull with the file.
Result<FinetuneResult> finetune(DecoderModel& model, const Dataset& windows, const FinetuneConfig& config,
                                const FinetuneCallback& progress = nullptr, const FinetuneRecord& record = {});

// A model and a text as finetune() takes them; where `from` is given, with its adapters, which then say config.adapter.
// InvalidArgument without a tokenizer... errors of read_model(), load_peft(), TokenWindows.
struct FinetuneInput {
  DecoderModel model;
  std::unique_ptr<TokenWindows> windows;
};
Result<FinetuneInput> open_finetune(const FinetuneSources& sources, FinetuneConfig& config);

// The settings a run began with, read from a folder that holds its journal. CorruptData, NotFound.
struct FinetuneStart {
  FinetuneConfig config;
  FinetuneSources sources;
};
Result<FinetuneStart> read_finetune_start(const std::string& journal);
bool is_finetune_journal(const std::string& path);

// Does a run again, in memory, and compares every hash and loss with its journal. CorruptData with the first line that
// differs. `folder`: where relative paths start; empty: the current one.
Result<ReplayReport> replay_finetune(const std::string& journal, const std::string& folder,
                                     const NetworkSessionOptions& session, const FinetuneCallback& progress = nullptr);

}  // namespace loom
