#pragma once
// Samples for training: inputs as f32, targets as class ids or as values. A data set knows its shapes, where it came
// from and the SHA-256 of what it was read from; the samples themselves are converted when a batch asks for them.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/sha256.h"
#include "core/shape.h"

namespace loom {

enum class TargetKind { classes, values };

struct DatasetInfo {
  std::string source;   // path, for messages and reports
  Digest sha256{};      // of the file as stored; of several files, concatenated
  Shape input, target;  // of one sample: [28, 28]; a single number is [1]
  std::size_t samples = 0;
  TargetKind targets = TargetKind::classes;
  bool has_ignored = false;              // some labels are outside of the classes and do not count
  std::size_t classes = 0;               // ids are below it; 0 for values
  std::vector<std::string> class_names;  // by id; empty where the source has none
  std::vector<std::string> columns;      // of the inputs in their order, where a header names them
};

// Destination of consecutive samples: `labels` is used for classes, `values` for values.
struct SampleBuffers {
  std::span<float> inputs;
  std::span<std::int32_t> labels;
  std::span<float> values;
};

class Dataset {
 public:
  virtual ~Dataset() = default;
  const DatasetInfo& info() const { return info_; }
  // `samples` in their order. IndexOutOfRange, ShapeMismatch for buffers that are too small; CorruptData,
  // ShapeMismatch, NonFinite for a sample that turns out to be bad, with its place.
  Result<void> read(std::span<const std::uint32_t> samples, const SampleBuffers& to) const;

 protected:
  explicit Dataset(DatasetInfo info) : info_(std::move(info)) {}
  // One sample, whose index and buffers have been checked.
  virtual Result<void> read_sample(std::size_t sample, const SampleBuffers& to) const = 0;

 private:
  DatasetInfo info_;
};

inline constexpr std::size_t kMaxSamples = 0xffffffffu;
inline constexpr std::size_t kMaxClasses = std::size_t{1} << 24;  // ids stay exact in f32

}  // namespace loom
