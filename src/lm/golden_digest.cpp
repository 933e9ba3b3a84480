#include "lm/golden.h"

namespace loom {

// SHA-256 of tests/determinism/hashes.tsv: changes only with a numerics version, in one reviewed commit with that file.
const char* const kGoldenDigest = "644dd082de393108e9ae6be0f41b3c21cc21a203851b56d4532e1b02773ac7ac";

}  // namespace loom
