#pragma once
// The choice of samples and their order are functions of sizes, fractions, seed and epoch alone (engine T-42, T-50).

#include <cstdint>
#include <span>
#include <vector>

#include "core/error.h"

namespace loom {

// Fisher-Yates from the last place down: place i changes with element i of the stream (seed, domain 4, step = epoch,
// `site`) below i + 1.
void shuffle(std::span<std::uint32_t> order, std::uint64_t seed, std::uint32_t epoch, std::uint32_t site = 0);

struct Split {
  std::vector<std::uint32_t> training, validation;
};

// Validation gets the last floor(samples * fraction + 1/2). OutOfRange unless 0 <= fraction < 1 and at least one sample
// is left to train; LimitExceeded beyond 2^32 - 1 samples.
Result<Split> split_last(std::size_t samples, double fraction);
// The same after a shuffle with a site of its own; both parts are in ascending order.
Result<Split> split_shuffled(std::size_t samples, double fraction, std::uint64_t seed);

}  // namespace loom
