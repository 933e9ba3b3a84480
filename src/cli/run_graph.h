#pragma once
// `loom run` of a graph of operations.

#include <string>
#include <vector>

#include "cli/common.h"

namespace loom::cli {

struct RunFlags {
  CommonOptions common;
  std::string network, output, hints, receipt;
  std::vector<std::string> inputs;  // one FILE, or NAME=FILE of a graph
  std::size_t batch = 1;
  std::uint64_t seed = 0;
  bool lenient = false, overwrite = false, cells = false;
};

// A graph may have several inputs and outputs, of any type.
Result<int> run_graph(const RunFlags& o);

}  // namespace loom::cli
