#include "lm/golden.h"

namespace loom {

// SHA-256 of tests/determinism/hashes.tsv: changes only with a numerics version, in one reviewed commit with that file.
const char* const kGoldenDigest = "fe62ed404c5501f53c5253838cc887fcb3bfbae47a166bc6c4325604d24008db";

}  // namespace loom
