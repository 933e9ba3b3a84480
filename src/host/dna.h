#pragma once
// Signatures of networks, their comparison and their drift as JSON.

#include <string>
#include <vector>

#include "core/json_fwd.h"
#include "evolution/dna/dna.h"

namespace loom {

// [{"key", "path", "type", "dtype", "weights": [..]}]
Json to_json(const Dna& dna);
// {"overall_overlap", "structural_overlap", "layers": [{"layer", "overlap"}], "logic_shifts", "unmatched"}
Json to_json(const DnaComparison& comparison);
// {"networks", "layers", "from_first", "from_previous"} of a sequence of networks, which were read from `networks`
Json to_json(const DnaDrift& drift, const std::vector<std::string>& networks);
// {"run", "epochs", "layers", "kinds", "from_first", "from_previous", "shifts_since_first", "shifts_since_previous":
// [{"epoch", "source", "target", "overlap"}]}
Json to_json(const DriftRecord& record, const std::string& run);

}  // namespace loom
