#pragma once
// The factors of a loss's rows (row_scale.h) on a graphics card.

#include <algorithm>
#include <vector>

#include "backend/webgpu/gpu_device.h"
#include "ops/loss/row_scale.h"

namespace loom::gpu {

// Adds them to a kernel: row r has number r / rows_per_scale of `scales`.
inline void add_scales(const Exec& exec, const RowScale& scale, Kernel& kernel) {
  std::vector<float> factors(std::max<std::size_t>(scale.weights.size(), 1));
  for (std::size_t i = 0; i < factors.size(); ++i) factors[i] = scale.of<float>(i * scale.rows_per_weight);
  kernel.reads("scales", exec.gpu()->upload(exec, std::span<const float>(factors)))
      .number("rows_per_scale", scale.weights.empty() ? 0xffffffffu : scale.rows_per_weight);
}

}  // namespace loom::gpu
