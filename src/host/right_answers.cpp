#include "host/right_answers.h"

#include <algorithm>
#include <cmath>

namespace loom {
namespace {

std::int32_t class_of_row(std::span<const double> row) {
  if (std::ranges::any_of(row, [](double v) { return std::isnan(v); })) return -1;
  if (row.size() == 1) return row[0] > 0.5 ? 1 : 0;
  return static_cast<std::int32_t>(std::ranges::max_element(row) - row.begin());
}

}  // namespace

std::vector<std::int32_t> row_classes(std::span<const double> values, std::size_t cols) {
  std::vector<std::int32_t> out;
  for (std::size_t at = 0; at + cols <= values.size(); at += cols)
    out.push_back(class_of_row(values.subspan(at, cols)));
  return out;
}

Result<std::vector<std::int32_t>> target_classes(const TensorValues& targets, std::size_t rows, std::size_t cols) {
  if (targets.values.size() == rows * cols) return row_classes(targets.values, cols);
  if (targets.values.size() != rows)
    return fail(Code::ShapeMismatch, "targets of the shape {}: expected {} class ids or {} rows of {} numbers",
                targets.shape.text(), rows, rows, cols);
  std::vector<std::int32_t> out;
  for (std::size_t i = 0; i < rows; ++i) {
    const double id = targets.values[i];
    if (!(id >= 0) || id != std::floor(id) || id >= static_cast<double>(cols))
      return fail(Code::InvalidArgument, "target {} is {}: expected a class id, 0 to {}", i, id, cols - 1);
    out.push_back(static_cast<std::int32_t>(id));
  }
  return out;
}

}  // namespace loom
