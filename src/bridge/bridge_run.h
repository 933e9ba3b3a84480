#pragma once
// Runs a streamed network on its samples and keeps what layers give.

#include <vector>

#include "bridge/stream.h"

namespace loom {

struct BridgeRun {
  std::vector<double> outputs;              // [samples, output elements]
  std::size_t width = 0;                    // numbers of a sample's output
  std::vector<std::vector<double>> layers;  // outputs of `cells`, each [samples, ...]; empty: not asked for
  std::vector<Shape> shapes;                // of one sample, of each of them
};

// OutOfMemory beyond max_bytes; Cancelled; errors of sessions. `cells` are those whose outputs are kept.
Result<BridgeRun> run_samples(Network& network, const BridgeSamples& samples, const BridgeNetwork& bridge,
                              std::span<const std::size_t> cells, const StreamOptions& options);

}  // namespace loom
