#pragma once
// Single layers with seeded weights and inputs, every kind in each of the 21 types: their outputs have known digests, which every
// machine, instruction set and thread count must reproduce. Part of the golden set (lm/golden.h).

#include <string>

#include "backend/cpu/isa.h"
#include "core/error.h"

namespace loom {

// "cnn2 forward int4" TAB digest, one line per kind and type; kinds without weights have one line.
Result<std::string> layer_golden_table(Isa isa, int threads);

}  // namespace loom
