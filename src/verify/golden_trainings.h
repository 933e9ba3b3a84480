#pragma once
// Short trainings of small networks with seeded weights and batches, whose last weights have known digests: the same on
// every machine, instruction set, thread count and micro-batch (tests/determinism/training.tsv, verify_golden).

#include <optional>
#include <string>
#include <vector>

#include "training/trainer.h"

namespace loom {

struct GoldenTraining {
  std::string name, layer;         // the spec of one layer, most often a sequence
  std::vector<std::size_t> input;  // of one sample
  std::size_t classes = 0;
  std::size_t labels = 1;  // per sample
  std::size_t ids = 0;     // above 0: inputs are integers below this
  LossConfig loss{.kind = LossKind::SoftmaxCrossEntropy};
  std::string optimizer = "adam";
  DType dtype = DType::float32;
  Mixed mixed = Mixed::none;
  std::optional<TweenMode> tween{};    // by target propagation, else by gradients
  std::size_t batch = 77, steps = 20;  // four blocks of sixteen samples and a part of one
};

struct TrainingWay {
  Isa isa = Isa::scalar;
  int threads = 1;
  std::size_t micro_batch = 0;
  Device* device = nullptr;
};

// An MLP with dropout, a CNN, an LSTM by gradients, then by targets in the three modes.
const std::vector<GoldenTraining>& golden_trainings();
// weight_hash() after the last step, as hexadecimal digits. NonFinite when a step was skipped.
Result<std::string> training_digest(const GoldenTraining& training, const TrainingWay& way);
// name TAB digest, one line per golden training.
Result<std::string> training_table(const TrainingWay& way);
// SHA-256 of the table of this numerics version.
extern const char* const kTrainingDigest;

}  // namespace loom
