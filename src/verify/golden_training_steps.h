#pragma once
// 500 steps of a trainer, as a host takes them through loom.h: every language package can take the same ones, since
// the batches are small fractions that float32 holds (js/test/common.mjs, tools/digest_matrix).

#include <optional>
#include <string>

#include "core/error.h"
#include "simd/target.h"

namespace loom {

inline constexpr int kTrainingSteps = 500;

// weight_hash() after the last step, 64 hexadecimal digits. NonFinite when a step was skipped.
Result<std::string> training_steps_digest(std::optional<Isa> isa, int threads);
// That hash in this numerics version.
extern const char* const kTrainingStepsDigest;

}  // namespace loom
