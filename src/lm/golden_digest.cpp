#include "lm/golden.h"

namespace loom {

// SHA-256 of tests/determinism/hashes.tsv: changes only with a numerics version, in one reviewed commit with that file.
const char* const kGoldenDigest = "d1c8ed7668067da98b2e5418329b9a6734bf393d2f76be4c38bb32208e97faac";

}  // namespace loom
