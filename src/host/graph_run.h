#pragma once
// A graph of operations, an ONNX file or an .entity with one, run on tensors from files.

#include <string>
#include <utility>
#include <vector>

#include "core/json_fwd.h"
#include "core/sha256.h"
#include "graph/runner.h"

namespace loom {

struct GraphRunOptions {
  // FILE for the only input, or NAME=FILE for each; .npy or .json. Inputs that are not named are drawn from the seed:
  // numbers in [0, 1), whole numbers 0; extents that the file leaves open are 1.
  std::vector<std::string> inputs;
  std::uint64_t seed = 0;
  std::uint64_t max_bytes = std::uint64_t{1} << 34;
  double repeat_seconds = 0;  // after the first run, the same inputs run again until this time is over
  graph::RunnerOptions runner{};
};
struct GraphRunResult {
  std::vector<std::pair<std::string, graph::Value>> inputs, outputs;
  std::vector<std::string> drawn;  // names of inputs
  Digest digest{};                 // of the outputs' bytes, as files hold them
  std::size_t scratch_bytes = 0;
  int threads = 0;
  Isa isa{};
  std::string device;  // that computed it: device_title()
  Precision precision = Precision::Strict;
  double seconds = 0;            // of the first run, with its planning, without loading
  std::vector<double> repeated;  // seconds of each run after it; the answers of all runs must be equal
};
// Errors of read_graph(), read_npy() and the run; InvalidArgument for inputs that the graph has not.
Result<GraphRunResult> run_graph_file(const std::string& path, const GraphRunOptions& options);
// Shapes, types, hash; with `values` the numbers too.
Json to_json(const GraphRunResult& result, bool values);
// Nested lists; a number of a scalar.
Json nested_json(const graph::Value& value);
// FILE.npy of a value; types that NumPy lacks become float32.
Result<void> write_value_npy(const std::string& path, const graph::Value& value);

// SHA-256 of the outputs' bytes, as files hold them.
Result<Digest> digest_of_outputs(const std::vector<graph::Value>& outputs);

// Inputs and outputs, operations and how often, constants and their bytes.
Json graph_facts(const graph::Model& model);

}  // namespace loom
