#include "lm/golden.h"

namespace loom {

// SHA-256 of tests/determinism/hashes.tsv: changes only with a numerics version, in one reviewed commit with that file.
const char* const kGoldenDigest = "8ab9ccf664aa22467916c11455806a8f95f3390c7dc230300f3335b6633c3818";

}  // namespace loom
