#pragma once
// A network in ticks (network/mesh/step_mesh.h): outputs and hashes by tick, learning towards targets, gradients
// through ticks, and states that are kept.

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/json_fwd.h"
#include "core/sha256.h"
#include "host/tensor_file.h"
#include "learning/tween/tween.h"
#include "network/network.h"

namespace loom {

struct MeshRunOptions {
  int threads = 0;  // 0: one per physical core
  std::optional<Isa> isa{};
  std::size_t ticks = 0;        // 0: as many as inputs by tick has, else 1
  bool by_tick = false;         // axis 0 of the inputs counts ticks: each reads the next ones
  bool pulse = false;           // inputs are read by the first tick alone; not with by_tick
  bool outputs = false;         // MeshTick::output is filled for every tick, not for the last one alone
  TensorValues targets{};       // of the last cell's output, or of each tick's; no values: none
  bool learn = false;           // each tick with an output moves the weights towards its targets
  bool backward = false;        // gradients of the last tick's error, through the captured ticks
  TweenConfig tween{};          // of learn
  double learning_rate = 0.05;  // of learn
  std::size_t through = 0;      // ticks that learn and backward go back; 0: the last one, or all of them
  std::string state{};          // snapshot to begin with; empty: none
  bool keeps_input = false;     // the state reads what it held; the inputs give the shape alone. Needs a state
  std::string input_name{}, targets_name{}, state_name{};  // of files, for errors
  std::uint64_t max_bytes = std::uint64_t{4} << 30;        // of the state and its captured ticks
  const std::atomic<bool>* cancel = nullptr;               // set from any thread: no further tick begins
};

struct MeshTick {
  std::uint64_t tick = 0;   // since the start of the state
  bool has_output = false;  // data has reached the last cell
  double least = 0, mean = 0, largest = 0;
  std::optional<double> error;  // mean of (output - target)^2, before the weights move
  Digest output_hash{}, state_hash{};
  bool is_finite = true;         // every number of the output
  std::vector<double> values{};  // of the output, where they are asked for
  Shape shape;
};

struct MeshGradient {
  std::string path;
  double norm = 0;
  Digest hash{};  // of the numbers as they are
};

struct MeshRun {
  Shape input_shape, output_shape;
  std::size_t cells = 0;
  int threads = 0;
  std::vector<std::string> warnings;
  std::vector<MeshTick> ticks;
  std::vector<MeshGradient> gradients;  // by weight, with backward
  std::optional<Digest> weights;        // after learning
  std::string snapshot;                 // of the state after the last tick
  bool stopped = false;                 // the cancel came between two ticks: results are those of the ticks before
};

// Prepares the network for ticks and runs them. `on_tick` hears of each. InvalidArgument for options that contradict
// each other, ShapeMismatch, NoHistory, NoValue where nothing reached the last cell and a gradient is asked for;
// errors of StepMesh, MeshTween and StepState::restore().
Result<MeshRun> run_mesh(Network& network, const TensorValues& inputs, const MeshRunOptions& options,
                         const std::function<void(const MeshTick&)>& on_tick = {});
Json to_json(const MeshTick& tick);
Json to_json(const MeshRun& run);

}  // namespace loom
