#pragma once
// Signatures of networks and their comparison as JSON.

#include "core/json_fwd.h"
#include "evolution/dna/dna.h"

namespace loom {

// [{"key", "path", "type", "dtype", "weights": [..]}]
Json to_json(const Dna& dna);
// {"overall_overlap", "structural_overlap", "layers": [{"layer", "overlap"}], "logic_shifts", "unmatched"}
Json to_json(const DnaComparison& comparison);

}  // namespace loom
