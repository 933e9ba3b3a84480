#pragma once
// A data set as batches: a sample's place, its order and its changes are functions of (config, epoch), so that a run
// may stop after any sample and resume after it with the same bits.

#include <vector>

#include "core/buffer.h"
#include "data/dataset.h"
#include "data/pipeline/augment.h"
#include "data/pipeline/normalise.h"

namespace loom {

struct BatchConfig {
  std::size_t batch_size = 32;
  bool shuffle = false;    // T-42; the order of `samples` otherwise
  bool drop_last = false;  // leave out a last batch that is short
  std::uint64_t seed = 0;
  AugmentConfig augment = {};
};

// The batch filled by next(), valid until the next call.
struct Batch {
  std::size_t size = 0;                    // samples
  std::span<const std::uint32_t> samples;  // their indices in the data set
  std::span<const float> inputs;           // [size, input]
  std::span<const std::int32_t> labels;    // [size, target] for classes
  std::span<const float> values;           // [size, target] for values
};

class Batches {
 public:
  // Batches over `samples` of `data`, which must outlive the result. InvalidConfig for a batch size of 0;
  // IndexOutOfRange; OutOfMemory; errors of output_shape() and check(). create() allocates all memory: next() allocates
  // nothing of its own.
  static Result<Batches> create(const Dataset& data, std::vector<std::uint32_t> samples, const BatchConfig& config,
                                Normalisation normalisation = {});

  // Sample `position` of `epoch` comes next. OutOfRange beyond the number of samples.
  Result<void> seek(std::uint32_t epoch, std::size_t position);
  // False at the end of the epoch; seek() starts the next one. A batch ends at a multiple of the batch size, also after
  // a seek between two.
  Result<bool> next(Batch& batch);

  std::uint32_t epoch() const { return epoch_; }
  std::size_t position() const { return position_; }  // samples of this epoch that were given out
  std::size_t samples() const { return order_.size(); }
  std::size_t batches() const;                          // of a whole epoch
  const Shape& input_shape() const { return output_; }  // of one sample, after a crop

 private:
  Batches(const Dataset& data, const BatchConfig& config) : data_(&data), config_(config) {}
  const Dataset* data_;
  BatchConfig config_;
  Normalisation normalisation_;
  std::vector<std::uint32_t> given_, order_;
  Shape output_;
  Buffer raw_, inputs_, targets_;
  std::uint32_t epoch_ = 0;
  std::size_t position_ = 0;
};

}  // namespace loom
