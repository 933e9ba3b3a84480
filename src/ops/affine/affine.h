#pragma once
// y = snap((x - mean) * scale + bias) by channels, f32: a batch norm whose statistics are known. The difference, the
// product and the sum are rounded, not snapped.

#include "backend/exec.h"

namespace loom {

// x, y [samples, channels, inner]; numbers: a mean, a scale and a bias for each channel, three lists.
void affine(const Exec& exec, const float* x, std::size_t samples, std::size_t channels, std::size_t inner,
            const float* numbers, float* y);

}  // namespace loom
