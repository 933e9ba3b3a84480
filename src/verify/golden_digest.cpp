#include "verify/golden_models.h"

namespace loom {

// SHA-256 of tests/determinism/hashes.tsv: changes only with a numerics version, in one reviewed commit with that file.
const char* const kGoldenDigest = "42541715b92d64e840ccdf7d327fff013cb4f2464a4e22b080ffe9f64c45563e";

}  // namespace loom
