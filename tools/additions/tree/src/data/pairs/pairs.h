#pragma once
// Pairs of numbers, a line each: the input, a space, the target. Shows how little a data format needs.

#include <memory>
#include <string>

#include "data/dataset.h"

namespace loom {

// CorruptData with the line of what is no pair; ShapeMismatch for a file without lines.
Result<std::unique_ptr<Dataset>> open_pairs(const std::string& path);

}  // namespace loom
