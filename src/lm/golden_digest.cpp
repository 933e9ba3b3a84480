#include "lm/golden.h"

namespace loom {

// SHA-256 of tests/determinism/hashes.tsv: changes only with a numerics version, in one reviewed commit with that file.
const char* const kGoldenDigest = "70ed519c8efa9bc532aaba78597fecbf2292c8a72e4e705378f0270ab9602e01";

}  // namespace loom
