#pragma once
// A table as a time series: a sample is `length` consecutive rows, its target the row after them.

#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace loom {

struct SeriesOptions {
  bool header = true;  // the first record names the columns
  char delimiter = ',';
  std::vector<std::string> columns = {};  // by name, in this order; empty: all
  std::size_t length = 16;                // rows of a sample
  std::size_t stride = 1;                 // from one sample to the next
  double scale = 1;  // every number is multiplied by it, in f64: inputs and targets are of one kind
};

// Inputs [length, columns], targets [columns] as values. CorruptData, NonFinite with line and column; UnknownName for a
// column that does not exist; ShapeMismatch for a record of another length and for a table of fewer than length + 1
// rows; InvalidConfig.
Result<std::unique_ptr<Dataset>> parse_series(std::string_view text, const std::string& name, const Digest& sha256,
                                              const SeriesOptions& options = {});
Result<std::unique_ptr<Dataset>> open_series(const std::string& path, const SeriesOptions& options = {});

}  // namespace loom
