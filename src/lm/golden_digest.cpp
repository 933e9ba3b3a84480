#include "lm/golden.h"

namespace loom {

// SHA-256 of tests/determinism/hashes.tsv: changes only with a numerics version, in one reviewed commit with that file.
const char* const kGoldenDigest = "e4f1b298fed8c8318d865fe0a20acab59b857c03df43af6f2c79ad7645c38ab6";

}  // namespace loom
