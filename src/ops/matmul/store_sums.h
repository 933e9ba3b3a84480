#pragma once
// The loops over panels of every kind store their sums by these functions, which add the bias and round alike.

#include "ops/matmul/matmul.h"
#include "simd/rows.h"

namespace loom::inline LOOM_TARGET {
namespace {

// Bytes asked for ahead of use: with the hardware's own prefetch alone a Zen 3 core decodes a fifth slower.
constexpr std::size_t kAhead = 4096;

template <class L>
LOOM_INLINE void store_sums(L lanes, const float* bias, const F32x16& total, float* y) {
  lanes.store(y, bias != nullptr ? snap(snap(total) + lanes.load(bias)) : snap(total));
}

[[gnu::noinline]] void store_last(std::size_t n, const float* bias, const F32x16& total, float* y) {
  store_sums(TailLanes{n}, bias, total, y);
}

// The sums of panel p in a row of y, the bias added.
LOOM_INLINE void store_row(const MatmulTask& task, std::size_t p, std::size_t row, const F32x16& total) {
  const std::size_t outputs = task.weight->rows(), first = p * kPanelRows;
  float* y = task.y + row * outputs + first;
  const float* bias = task.bias != nullptr ? task.bias + first : nullptr;
  outputs - first >= kPanelRows ? store_sums(FullLanes{}, bias, total, y) : store_last(outputs - first, bias, total, y);
}

}  // namespace
}  // namespace loom::inline LOOM_TARGET
