#pragma once
// Clipping of gradients before the optimiser (engine T-40): by norm first, then by value.

#include <span>

#include "backend/figures.h"
#include "ops/l2_norm/l2_norm.h"

namespace loom {

// g = clamp(g, -limit, limit), snapped; a NaN stays. InvalidConfig unless limit >= 0; 0 does nothing.
Result<void> clip_value(const Exec& exec, std::span<const Tensor> gradients, double limit);

// Scales every g so that the norm over all gradients (of one element type) is `limit`, where it is larger
// (clip_factors() of ops/l2_norm, which leaves its figures in clip [4]). A norm that is not finite leaves g alone: the
// batch is skipped (T-04). InvalidConfig unless limit >= 0; 0 only measures.
Result<void> clip_norm(const Exec& exec, std::span<const Tensor> gradients, double limit, Tensor clip);
// Returns the norm that the gradients had before; valid after the pass has ended.
inline double norm_of(const Figures& figures, const ConstTensor& clip) {
  return figures.at(clip, kNorm) / figures.at(clip, kNormScale);
}

}  // namespace loom
