#pragma once
// The factor of the gradients of a loss's rows: the weight of the row's sample over the divisor of the batch, rounded
// once to the element.

#include <span>

#include "backend/exec.h"

namespace loom {

struct RowScale {
  std::span<const double> weights{};  // one per sample, which has rows_per_weight rows; none: 1
  std::size_t rows_per_weight = 1;
  double divisor = 1;

  double weight(std::size_t row) const { return weights.empty() ? 1.0 : weights[row / rows_per_weight]; }
  // A subnormal factor is 0: no gradient above the threshold of snap would need it, and hosts that flush would differ.
  template <class T>
  T of(std::size_t row) const {
    constexpr double kLeastNormal = sizeof(T) == 8 ? 0x1p-1022 : 0x1p-126;
    const double factor = weight(row) / divisor;
    return factor < kLeastNormal ? T{0} : static_cast<T>(factor);
  }
};

}  // namespace loom
