// One graph (ONNX) timed on given inputs: bench_graphs MODEL SECONDS THREADS [NAME=FILE.npy ...]
// prints the outputs' hash, the number of runs, and the least and median microseconds of a run. bench/onnx_graphs.py
// drives it beside onnxruntime.

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "host/graph_run.h"

int main(int count, char** arguments) {
  if (count < 4) return fmt::print(stderr, "bench_graphs MODEL SECONDS THREADS [NAME=FILE.npy ...]\n"), 2;
  loom::GraphRunOptions options;
  options.repeat_seconds = std::strtod(arguments[2], nullptr);
  options.runner.threads = std::atoi(arguments[3]);
  options.inputs.assign(arguments + 4, arguments + count);
  auto result = loom::run_graph_file(arguments[1], options);
  if (!result) return fmt::print(stderr, "{}\n", result.error().text()), 1;
  std::vector<double>& times = result->repeated;
  if (times.empty()) times.push_back(result->seconds);
  std::ranges::sort(times);
  fmt::print("{}\t{}\t{}\t{}\n", loom::to_hex(result->digest), times.size(), times.front() * 1e6,
             times[times.size() / 2] * 1e6);
  return 0;
}
