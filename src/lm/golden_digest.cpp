#include "lm/golden.h"

namespace loom {

// SHA-256 of tests/determinism/hashes.tsv: changes only with a numerics version, in one reviewed commit with that file.
const char* const kGoldenDigest = "56ebaf0a0e9e229ca5bc89a6e78f42c7b22ecbe3846e08e357b7b048b2010aa1";

}  // namespace loom
