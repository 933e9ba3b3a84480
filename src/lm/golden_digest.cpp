#include "lm/golden.h"

namespace loom {

// SHA-256 of tests/determinism/hashes.tsv: changes only with a numerics version, in one reviewed commit with that file.
const char* const kGoldenDigest = "701a8aa776ab04d95601c6e5e440c7747720bbfddcc6025477ef8f21e920cf34";

}  // namespace loom
