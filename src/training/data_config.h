#pragma once
// Source of a training's samples: the "data" object of a config (docs/guide/training.md has every key).

#include <memory>
#include <optional>

#include "core/config_visitor.h"
#include "data/array_dataset.h"
#include "data/pipeline/batches.h"
#include "data/pipeline/normalise.h"

namespace loom {

struct TrainingData {
  std::unique_ptr<Dataset> training, held_out;                      // held_out: a validation set of its own
  std::vector<std::uint32_t> training_samples, validation_samples;  // of `training`, or of held_out where there is one
  Normalisation normalisation;                                      // fitted on the training samples
  AugmentConfig augment;
  const Dataset& validation_set() const { return held_out ? *held_out : *training; }
  bool validates() const { return !validation_samples.empty(); }
};

// How the training uses its samples.
struct DataUse {
  std::uint64_t seed = 0;  // of a shuffled split
  // the loss's ignore_index, which labels may be outside of the classes: -100 as in PyTorch
  std::optional<std::int64_t> ignored = {};
};

// Paths are relative to `folder`.
//   format   idx, csv, npy, npz, images, text, series
//   inputs, targets   files (idx, npy) or arrays of `path` (npz); `path` is the file or folder of the others
// InvalidConfig, UnknownKey with the key; errors of the readers with their files.
Result<TrainingData> open_training_data(const Json& config, const std::string& folder, const DataUse& use);

// Samples that a program holds: one row of each array is a sample. The bytes outlive what reads them, or have an owner.
struct SampleArrays {
  RawArray inputs, targets;
};
struct TrainingArrays {
  SampleArrays training;
  std::optional<SampleArrays> validation = {};  // in place of the config's own
};
// Like open_training_data(), over arrays: `config` has the keys that say how samples are read, split, normalised and
// augmented (classes, class_names, shape, target_kind, limit...), but neither format nor paths. A data set's SHA-256 is
// that of its arrays' types, shapes and bytes. Errors also of dataset_of(); Unsupported for elements of less than a
// byte.
Result<TrainingData> training_data_of(TrainingArrays arrays, const Json& config, const std::string& folder,
                                      const DataUse& use);

// JSON Schema of such an object.
Json data_schema();

}  // namespace loom
