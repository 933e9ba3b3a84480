#include "lm/golden.h"

namespace loom {

// SHA-256 of tests/determinism/hashes.tsv: changes only with a numerics version, in one reviewed commit with that file.
const char* const kGoldenDigest = "1702ed87f372cf5b8bbe84b60437912c42b454ce3704c39276d3abd719624dae";

}  // namespace loom
