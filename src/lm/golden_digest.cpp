#include "lm/golden.h"

namespace loom {

// SHA-256 of tests/determinism/hashes.tsv: changes only with a numerics version, in one reviewed commit with that file.
const char* const kGoldenDigest = "f1cbabfd72f9d6c42c41f30deac31c77758b48258d4d8ad0ac733969ed226e19";

}  // namespace loom
