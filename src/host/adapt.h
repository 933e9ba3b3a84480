#pragma once
// A network over a stream of samples whose task changes: how fast its accuracy recovers (telemetry/adaptation.h).

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/json_fwd.h"
#include "core/sha256.h"
#include "host/tensor_file.h"
#include "network/network.h"
#include "telemetry/adaptation.h"
#include "training/trainer.h"

namespace loom {

struct AdaptTask {
  std::string name;
  Examples data;  // with targets
};

struct AdaptOptions {
  TrainerConfig trainer{};            // of the step after each sample, with threads and instruction set
  bool learns = true;                 // else the network is only measured
  std::size_t outputs_per_task = 0;   // 0: the samples of each task; more begin again with the first one
  std::size_t window = 50;            // outputs of a window, on a clock that counts outputs: equal on every machine
  std::optional<double> window_ms{};  // in place of that, windows of this machine's time
  const std::atomic<bool>* cancel = nullptr;  // set from any thread: no further sample begins
  std::function<void(std::size_t done, std::size_t total)> progress{};
};

struct AdaptResult {
  std::vector<AdaptationWindow> windows;
  std::vector<TaskChange> changes;
  std::vector<std::string> tasks;  // in order
  std::uint64_t outputs = 0, skipped_steps = 0;
  double accuracy = 0, throughput = 0, availability = 0, score = 0;
  bool counts_outputs = true;  // the clock does: milliseconds are outputs
  double window_ms = 0;
  bool stopped = false;  // the cancel came: the figures are those of the samples before
  Digest weights{};      // after the stream
};

// Each sample is answered, judged by its class (host/right_answers.h) and then learned from. InvalidArgument without
// tasks, targets or outputs, ShapeMismatch for tasks of different shapes; errors of Trainer.
Result<AdaptResult> run_adaptation(Network& network, const std::vector<AdaptTask>& tasks, const AdaptOptions& options);
Json to_json(const AdaptResult& result);
// Accuracy by window, with a line where the task changes. SVG that needs nothing else.
std::string adaptation_svg(const AdaptResult& result);

}  // namespace loom
