#pragma once
// Networks of one layer, one per kind, pass and type, whose results have known digests: part of tests/determinism/hashes.tsv.

#include <string>

#include "backend/cpu/isa.h"
#include "core/error.h"

namespace loom {

// name TAB digest, one line per case: "cnn2 forward int8", "cnn2 backward float32".
Result<std::string> layer_golden_table(Isa isa, int threads);

}  // namespace loom
