#pragma once
// Log-probabilities of drawn tokens as JSON.

#include "core/json_fwd.h"
#include "lm/generator.h"

namespace loom {

// A list with an object per drawn token: id, logprob (before temperature and cuts) and top, the best tokens by the
// same. Empty for a generation without the option logprobs.
Json logprobs_json(const Generation& generation);

}  // namespace loom
