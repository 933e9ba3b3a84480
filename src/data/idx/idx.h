#pragma once
// IDX, the format of MNIST (yann.lecun.com/exdb/mnist): 0, 0, a type, the number of axes, the extents, the elements,
// all big-endian.

#include "data/array_dataset.h"

namespace loom {

// The array points into `file`, which must outlive it. CorruptData with the offset; Unsupported for more than 8 axes.
Result<RawArray> parse_idx(std::span<const std::byte> file);

// Inputs from one file and targets from another, both possibly gzip'd. Errors name the file; those of open_source() and
// dataset_of().
Result<std::unique_ptr<Dataset>> open_idx(const std::string& inputs, const std::string& targets,
                                          const ArrayOptions& options = {});

}  // namespace loom
