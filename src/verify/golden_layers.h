#pragma once
// Networks of one layer, one per kind, pass and type, whose results have known digests: part of
// tests/determinism/hashes.tsv. The conformance tests run the same layers.

#include <span>
#include <string>
#include <vector>

#include "backend/cpu/isa.h"
#include "core/error.h"
#include "network/network.h"

namespace loom {

// Every option at once where a kind has options; sizes that leave tails of blocks, groups and lanes.
struct GoldenLayer {
  std::string_view name, spec;
  std::vector<std::size_t> input;
  bool typed = true;  // has weights that take a type
  bool training = false;
  std::size_t ids = 0;  // above 0: the input is integers below this
};

std::span<const GoldenLayer> golden_layers();
// Returns how many types a case is run in, counted from the first.
std::size_t golden_types(const GoldenLayer& layer);
// Prepared and initialised: a function of the case and the type alone.
Result<Network> golden_network(const GoldenLayer& layer, DType dtype);
std::vector<float> golden_input(const GoldenLayer& layer);

// name TAB digest, the output, then the gradients of input and weights together: "cnn2 forward int8", "cnn2 backward
// int8".
Result<std::string> layer_golden_lines(const GoldenLayer& layer, DType dtype, Isa isa, int threads,
                                       Device* device = nullptr);
// The lines of every case in every type. Adds the cases that a rule of cards refuses to `refused`.
Result<std::string> layer_golden_table(Isa isa, int threads, Device* device = nullptr,
                                       std::vector<std::string>* refused = nullptr);

}  // namespace loom
