#pragma once
// Clipping of gradients before the optimiser (engine T-40): by norm first, then by value.

#include <span>

#include "backend/exec.h"

namespace loom {

// g = clamp(g, -limit, limit), snapped; a NaN stays. InvalidConfig unless limit >= 0; 0 does nothing.
Result<void> clip_value(const Exec& exec, std::span<const Tensor> gradients, double limit);

// The norm over all tensors: that of each in its own element type (ops/l2_norm), their squares added on the host in the order given (that of
// their paths). Squares that f32 cannot hold are no reason for an infinite norm; that an element is infinite is one.
double gradient_norm(const Exec& exec, std::span<const Tensor> gradients);

// Where the norm is above `limit`, every g *= limit / (norm + 1e-6), snapped. Gives the norm from before. A norm that is not finite leaves
// g alone: the batch is skipped (T-04). InvalidConfig unless limit >= 0; 0 only measures.
Result<double> clip_norm(const Exec& exec, std::span<const Tensor> gradients, double limit);

}  // namespace loom
