#pragma once
// Hash of weights, by which two trainings are compared.

#include <functional>

#include "core/sha256.h"
#include "network/network.h"

namespace loom {

// SHA-256 over every weight in path order: path, a zero byte, then its master (or, without one, the values of its
// active version) as little-endian numbers.
Digest weight_hash(const Network& network);
// The hash of the weights that `counts` picks.
Digest weight_hash(const Network& network, const std::function<bool(const Weight&)>& counts);

}  // namespace loom
