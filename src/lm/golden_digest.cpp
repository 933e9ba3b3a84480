#include "lm/golden.h"

namespace loom {

// SHA-256 of tests/determinism/hashes.tsv: changes only with a numerics version, in one reviewed commit with that file.
const char* const kGoldenDigest = "a882f9fd69a406c2b382939cfd8325208d24aec03cee7f121a5a1827cd50f877";

}  // namespace loom
