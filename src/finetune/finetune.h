#pragma once
// A loaded language model learns a text by low-rank adapters (Hu et al. 2021): its own weights stay as they are, packed in whatever type
// they were loaded in, and only the adapters have gradients, masters and optimiser state. Deterministic as all training here.

#include <functional>

#include "lm/peft.h"
#include "training/training_run.h"

namespace loom {

// Ids of a text as samples for next-token training: [length] ids and, as classes, the ids one place on; windows follow one another.
class TokenWindows final : public Dataset {
 public:
  // ShapeMismatch for fewer than length + 1 ids; IndexOutOfRange for an id outside the vocabulary.
  static Result<std::unique_ptr<TokenWindows>> create(std::vector<std::int32_t> ids, std::size_t length, std::size_t vocab_size, std::string source);

 protected:
  Result<void> read_sample(std::size_t sample, const SampleBuffers& to) const override;

 private:
  TokenWindows(DatasetInfo info, std::vector<std::int32_t> ids) : Dataset(std::move(info)), ids_(std::move(ids)) {}
  std::vector<std::int32_t> ids_;
};

struct FinetuneConfig {
  PeftConfig adapter;
  std::size_t length = 128, batch_size = 4, micro_batch = 1;  // tokens of a window, windows per step, windows that run at once
  std::uint64_t epochs = 1, steps = 0;                        // steps 0: all of the epochs
  double validation_split = 0.1;                              // the last windows
  std::size_t validation_windows = 16;                        // of them at most
  std::uint64_t seed = 0;
  OptimizerConfig optimizer{.name = "adamw"};
  ScheduleConfig schedule{.name = "cosine", .learning_rate = 2e-4, .warmup_steps = 10};  // its total is the run's
  double clip_norm = 1;
  NetworkSessionOptions session;
};

struct FinetuneProgress {
  std::uint64_t step = 0, steps = 0, tokens = 0;
  double loss = 0, learning_rate = 0;
  std::optional<double> validation_loss{};  // before the first step and after the last one
};

struct FinetuneResult {
  std::uint64_t steps = 0, tokens = 0;
  std::vector<double> losses;
  double validation_before = 0, validation_after = 0;  // mean loss per token, natural logarithm; 0 without validation windows
  std::size_t scratch_bytes = 0, adapter_parameters = 0;
  bool stopped = false;
  Digest hash{};                                       // of the adapters
};

// The model gets fresh adapters, unless it has some of that name, which then go on learning. Returning `stop` ends the run with the
// adapters as they are.
Result<FinetuneResult> finetune(DecoderModel& model, const Dataset& windows, const FinetuneConfig& config,
                                const std::function<Continue(const FinetuneProgress&)>& progress = nullptr);

}  // namespace loom
