#pragma once
// Classes of outputs and of targets, by which answers are right or wrong.

#include <cstdint>
#include <span>
#include <vector>

#include "host/tensor_file.h"

namespace loom {

// The class of each row: the place of its largest number, the lowest where several are; of rows of one number 1 above
// 0.5, else 0. A row with a NaN has class -1.
std::vector<std::int32_t> row_classes(std::span<const double> values, std::size_t cols);

// Classes that targets name for so many rows: a class id per row, or a row of numbers like the output's. ShapeMismatch,
// InvalidArgument for an id that is no class.
Result<std::vector<std::int32_t>> target_classes(const TensorValues& targets, std::size_t rows, std::size_t cols);

}  // namespace loom
