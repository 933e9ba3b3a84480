#pragma once
// What two trainings are compared by.

#include "core/sha256.h"
#include "network/network.h"

namespace loom {

// SHA-256 over every weight in path order: path, a zero byte, then its master (or, without one, the values of its active version) as
// little-endian numbers.
Digest weight_hash(const Network& network);

}  // namespace loom
